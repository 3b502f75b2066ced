/* answer.h - what is read from a race: a recommendation, curves, and how sure they are. */
#ifndef PLAN_ANSWER_H
#define PLAN_ANSWER_H

#include "plan/plan.h"

enum { BUDGETS = 8, ONCE = 3, METHODS_MAX = 12, WEAK_MAX = 8, WORDS = 320 };

struct amount { /* labels, and what they bring */
    int64_t labels, people;
    int each;
    double accuracy, lo, hi; /* of 90 % */
    bool trusted;            /* within four times what was run */
};

struct standing { /* one method in the race */
    const char *method;
    double behind, behind_half; /* of the recommended arm, where both were run; half of 95 % */
    int64_t at;                 /* labels of that comparison */
    bool whole;                 /* with all steps */
    double accuracy;
    double more_people, more_each; /* what 100 labels more would bring; NaN: not known */
};

struct answer {
    const struct situation *s;
    enum plan_case { SIMULATED, ANSWERED, PRIOR } of;
    struct trial best, second; /* second.done false: there is none */
    struct amount amount;      /* at B */
    int64_t second_people;
    double second_margin, second_half; /* best - second, points of accuracy and half of 90 % */
    double before, worse;
    struct amount at[BUDGETS]; /* from a tenth to ten times B; at[ONCE] at B */
    struct curve curve;
    double target_labels; /* NaN: no curve reaches it; 0: not asked */
    bool target_trusted;
    double reach; /* the accuracy at a hundred times the labels run */
    struct standing method[METHODS_MAX];
    int n_methods;
    char weak[WEAK_MAX][WORDS];
    int n_weak;
    bool odd; /* the curve is none: nothing is said beyond what was run */
    int64_t validated, runs;
    int64_t used_training, used_validation;
    int64_t pilot; /* labels to buy first, 0: none */
    bool vague;    /* the interval at B says little */
    char *command; /* owned */
};
/* From a race that was run. */
int answer_make(struct answer *a, const struct race *r, int best, int second);
void answer_release(struct answer *a);
/* All of it, kept in the database. */
int plan_make(struct situation *s, struct race *r, struct answer *a);
/* Whether a budget is in the text and the JSON: a tenth, half, once, twice and ten times B. */
bool answer_shows(const struct answer *a, int budget);
/* Into the database, for the page. */
int answer_keep(const struct answer *a, const struct race *r, const char *plan);
/* free() them. */
char *answer_text(const struct answer *a);
char *answer_json(const struct answer *a);

#endif
