/* store_plans.c - plans: what was asked, how fast the machine was, and the answer. */
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
int store_plan_begin(struct store *s, const char *plan, double *rate)
{
    sqlite3_stmt *find = NULL;
    int err =
        sql_do(s, "INSERT OR IGNORE INTO plans (plan, rate) VALUES (?, ?)", "td", plan, *rate);
    if (!err)
        err = sql_prepare(s, &find, "SELECT rate FROM plans WHERE plan = ?");
    if (err)
        return err;
    sql_bind(find, "t", plan);
    int row = sql_row(s, find);
    if (row == 1)
        *rate = sqlite3_column_double(find, 0);
    sqlite3_finalize(find);
    return row < 0 ? row : 0;
}

static int put_points(struct store *s, const char *plan, const struct store_plan_point *at, int n)
{
    sqlite3_stmt *put = NULL;
    int err = sql_do(s, "DELETE FROM plan_points WHERE plan = ?", "t", plan);
    if (!err)
        err = sql_prepare(s, &put,
                          "INSERT INTO plan_points VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    for (int i = 0; i < n && !err; i++)
        err = sql_put(s, put, "tittldddddi", plan, i, at[i].kind, at[i].line, at[i].labels,
                      at[i].people, at[i].each, at[i].accuracy, at[i].lo, at[i].hi, at[i].trusted);
    sqlite3_finalize(put);
    return err;
}

int store_plan_keep(struct store *s, const char *plan, const char *text, const char *json,
                    const struct store_plan_point *at, int n)
{
    int err = sql_begin(s);
    if (err)
        return err;
    err =
        sql_do(s, "UPDATE plans SET text = ?, answer = ? WHERE plan = ?", "ttt", text, json, plan);
    if (!err)
        err = put_points(s, plan, at, n);
    return sql_end(s, err, "cannot keep the plan");
}
#endif
