"""The structs of mete.h, mete_learner.h and mete_theory.h, field by field.

tests/python/test_structs.py compares each with what the C compiler makes of the headers.
"""
from __future__ import annotations

import ctypes as C
from typing import Any

text = C.c_char_p
pointer = C.c_void_p
texts = C.POINTER(C.c_char_p)


class Sized(C.Structure):
    """A struct that begins with its size."""

    def __init__(self, **values: Any) -> None:
        super().__init__(size=C.sizeof(type(self)), **values)


class mete_progress(C.Structure):
    _fields_ = [("what", text), ("done", C.c_double), ("total", C.c_double), ("restored", C.c_double),
                ("left", C.c_double), ("detail", text)]


# ---- data ----

class mete_import_options(Sized):
    _fields_ = [("size", C.c_size_t), ("kind", text), ("paths", texts), ("dir", text), ("settings", texts),
                ("force", C.c_bool), ("threads", C.c_int32)]


class mete_spread(C.Structure):
    _fields_ = [("least", C.c_int64), ("middle", C.c_int64), ("most", C.c_int64)]


class mete_data_info(Sized):
    _fields_ = [("size", C.c_size_t), ("name", C.c_char * 128), ("path", C.c_char * 1024), ("items", C.c_int64),
                ("classes", C.c_int32), ("users", C.c_int32), ("shape", C.c_int32 * 3), ("is_float", C.c_bool),
                ("scale", C.c_float), ("shift", C.c_float), ("groups", C.c_int32), ("per_class", mete_spread),
                ("per_user", mete_spread), ("part_items", C.c_int64 * 2), ("part_users", C.c_int32 * 2),
                ("split_classes", C.c_int32 * 3), ("source", C.c_char * 256), ("licence", C.c_char * 256),
                ("sha256", C.c_char * 65), ("unlabelled", C.c_int64)]


class mete_array(C.Structure):
    _fields_ = [("x", pointer), ("items", C.c_int64), ("h", C.c_int32), ("w", C.c_int32), ("c", C.c_int32),
                ("is_float", C.c_int32), ("scale", C.c_float), ("shift", C.c_float)]


class mete_data_parts(Sized):
    _fields_ = [("size", C.c_size_t), ("name", text), ("x", mete_array), ("y", pointer), ("user", pointer),
                ("part", pointer), ("classes", C.c_int32), ("users", C.c_int32), ("class_names", texts),
                ("user_names", texts), ("feature_names", texts)]


# ---- models ----

class mete_model_options(Sized):
    _fields_ = [("size", C.c_size_t), ("device", text), ("set", texts), ("ways", C.c_int32)]


class mete_model_info(Sized):
    _fields_ = [("size", C.c_size_t), ("ways", C.c_int32), ("h", C.c_int32), ("w", C.c_int32), ("c", C.c_int32),
                ("is_float", C.c_int32), ("features", C.c_int32), ("tensors", C.c_int32), ("adapted", C.c_int32),
                ("labelled", C.c_int32), ("scale", C.c_float), ("shift", C.c_float), ("method", C.c_char * 32),
                ("net", C.c_char * 32), ("bn", C.c_char * 16), ("bench", C.c_char * 1024)]


class mete_tensor(C.Structure):
    _fields_ = [("name", C.c_char * 64), ("dims", C.c_int32), ("shape", C.c_int32 * 4), ("len", C.c_int64)]


# ---- training and testing ----

class mete_test(C.Structure):
    _fields_ = [("model", text), ("shots", C.c_int), ("support", text), ("bn", text), ("tasks", C.c_int),
                ("accuracy", C.c_double), ("half", C.c_double), ("before", C.c_double), ("loss", C.c_double),
                ("ece", C.c_double), ("valid_accuracy", C.c_double), ("labels", C.c_int), ("users", C.c_int),
                ("worse", C.c_double), ("kept", C.c_double), ("adapted", C.c_double), ("adapted_worse", C.c_double)]


class mete_event(C.Structure):
    _fields_ = [("size", C.c_size_t), ("kind", C.c_int32), ("step", C.c_int64), ("steps", C.c_int64),
                ("done", C.c_double), ("tasks", C.c_int64), ("labels", C.c_int64), ("accuracy", C.c_double),
                ("half", C.c_double), ("loss", C.c_double), ("test", C.POINTER(mete_test))]


mete_event_fn = C.CFUNCTYPE(C.c_int, pointer, C.POINTER(mete_event))
mete_test_fn = C.CFUNCTYPE(None, pointer, C.POINTER(mete_test))
mete_log_fn = C.CFUNCTYPE(None, pointer, C.c_int, text)
mete_progress_fn = C.CFUNCTYPE(C.c_int, pointer, C.POINTER(mete_progress))


class mete_fit_options(Sized):
    _fields_ = [("size", C.c_size_t), ("data", pointer), ("bench", text), ("method", text), ("labels", text),
                ("net", text), ("device", text), ("set", texts), ("seed", C.c_uint64), ("threads", C.c_int32),
                ("no_folder", C.c_int32), ("folder", text), ("event", mete_event_fn), ("user", pointer)]


class mete_eval_options(Sized):
    _fields_ = [("size", C.c_size_t), ("model", text), ("bench", text), ("tasks", text), ("device", text),
                ("set", texts), ("threads", C.c_int), ("test", mete_test_fn), ("user", pointer)]


# ---- suites and results ----

class mete_planned_run(C.Structure):
    _fields_ = [("bench", text), ("method", text), ("labels", text), ("seed", C.c_uint64), ("shots", C.c_int),
                ("tasks", C.c_int64), ("n_labels", C.c_int64), ("gflop", C.c_double), ("seconds", C.c_double),
                ("state", text), ("settings", text)]


class mete_finished_run(C.Structure):
    _fields_ = [("bench", text), ("method", text), ("labels", text), ("seed", C.c_uint64), ("accuracy", C.c_double),
                ("n_labels", C.c_int64), ("seconds", C.c_double), ("several", C.c_bool)]


class mete_run_summary(C.Structure):
    _fields_ = [("runs", C.c_int), ("done", C.c_int), ("failed", C.c_int), ("running", C.c_int),
                ("finished", C.c_int), ("n_labels", C.c_int64), ("out_of_time", C.c_bool)]


planned_fn = C.CFUNCTYPE(None, pointer, C.POINTER(mete_planned_run))
config_fn = C.CFUNCTYPE(None, pointer, text)
finished_fn = C.CFUNCTYPE(None, pointer, C.POINTER(mete_finished_run))


class mete_run_options(Sized):
    _fields_ = [("size", C.c_size_t), ("suite", text), ("db", text), ("device", text), ("set", texts), ("only", texts),
                ("seeds", C.c_int), ("threads", C.c_int), ("together", C.c_int), ("dry_run", C.c_bool),
                ("print_config", C.c_bool), ("retry", C.c_bool), ("planned", planned_fn), ("config", config_fn),
                ("finished", finished_fn), ("summary", C.POINTER(mete_run_summary)), ("minutes", C.c_double),
                ("user", pointer), ("ranks_per_run", C.c_int), ("progress", mete_progress_fn)]


class mete_results_options(Sized):
    _fields_ = [("size", C.c_size_t), ("db", text), ("suite", text), ("format", text), ("last", C.c_bool),
                ("colour", C.c_bool), ("width", C.c_int)]


class mete_report_options(Sized):
    _fields_ = [("size", C.c_size_t), ("db", text), ("path", text), ("suite", text), ("title", text),
                ("tensorboard", text)]


# ---- plans ----

plan_before_fn = C.CFUNCTYPE(None, pointer, C.c_double, C.c_int32)


class mete_plan_options(Sized):
    _fields_ = [("size", C.c_size_t), ("data", text), ("labels", C.c_double), ("target", C.c_double),
                ("price", text), ("methods", text), ("db", text), ("net", text), ("device", text), ("set", texts),
                ("minutes", C.c_double), ("seed", C.c_uint64), ("people", C.c_int32), ("threads", C.c_int32),
                ("before", plan_before_fn), ("progress", mete_progress_fn), ("user", pointer)]


# ---- learners and strategies of one's own ----

class mete_param(C.Structure):
    _fields_ = [("name", text), ("type", C.c_int32), ("initial", C.c_double), ("min", C.c_double),
                ("max", C.c_double), ("text", text), ("help", text)]


class mete_value(C.Structure):
    _fields_ = [("name", text), ("text", text), ("number", C.c_double)]


class mete_items(C.Structure):
    _fields_ = [("item", C.POINTER(C.c_int32)), ("label", C.POINTER(C.c_int32)), ("n", C.c_int32)]


class mete_labelled_task(C.Structure):
    _fields_ = [("support", mete_items), ("query", mete_items), ("number", C.c_int64)]


class mete_learner_spec(C.Structure):
    _fields_ = [("size", C.c_size_t), ("x", pointer), ("is_float", C.c_int32), ("h", C.c_int32), ("w", C.c_int32),
                ("c", C.c_int32), ("items", C.c_int64), ("scale", C.c_float), ("shift", C.c_float),
                ("ways", C.c_int32), ("meta_batch", C.c_int32), ("support", C.c_int32), ("query", C.c_int32),
                ("threads", C.c_int32), ("seed", C.c_uint64), ("settings", C.POINTER(mete_value))]


class mete_learner_facts(C.Structure):
    _fields_ = [("size", C.c_size_t), ("features", C.c_int32), ("repeatable", C.c_int32),
                ("last_is_best", C.c_int32)]


mete_put_fn = C.CFUNCTYPE(None, pointer, C.c_char_p, C.c_size_t)
open_fn = C.CFUNCTYPE(C.c_int, pointer, C.POINTER(mete_learner_spec), C.POINTER(mete_learner_facts),
                      C.POINTER(pointer))
step_fn = C.CFUNCTYPE(C.c_int, pointer, C.POINTER(mete_labelled_task), C.c_int32, C.POINTER(C.c_double))
adapt_fn = C.CFUNCTYPE(C.c_int, pointer, C.POINTER(mete_items))
predict_fn = C.CFUNCTYPE(C.c_int, pointer, C.POINTER(mete_items), pointer, pointer)
save_fn = C.CFUNCTYPE(C.c_int, pointer, C.c_int32, mete_put_fn, pointer)
load_fn = C.CFUNCTYPE(C.c_int, pointer, C.c_int32, pointer, C.c_size_t)
close_fn = C.CFUNCTYPE(None, pointer)


class mete_learner_ops(Sized):
    _fields_ = [("size", C.c_size_t), ("name", text), ("summary", text), ("version", text),
                ("params", C.POINTER(mete_param)), ("same_classes", C.c_int32), ("open", open_fn), ("step", step_fn),
                ("adapt", adapt_fn), ("predict", predict_fn), ("save", save_fn), ("load", load_fn),
                ("close", close_fn)]


class mete_pool(C.Structure):
    _fields_ = [("size", C.c_size_t), ("n", C.c_int32), ("ways", C.c_int32), ("features", C.c_int32),
                ("shots", C.c_int32), ("round", C.c_int32), ("available", C.POINTER(C.c_uint8)),
                ("known", C.POINTER(C.c_int32)), ("probs", C.POINTER(C.c_float)), ("reps", C.POINTER(C.c_float)),
                ("settings", C.POINTER(mete_value)), ("seed", C.c_uint64), ("memo", C.POINTER(C.c_int32))]


choose_fn = C.CFUNCTYPE(C.c_int32, pointer, C.POINTER(mete_pool), C.c_int32, C.POINTER(C.c_int32))


class mete_strategy_ops(Sized):
    _fields_ = [("size", C.c_size_t), ("name", text), ("summary", text), ("version", text),
                ("params", C.POINTER(mete_param)), ("needs", C.c_int32), ("choose", choose_fn)]


# ---- theory ----

class mete_sgm(C.Structure):
    _fields_ = [("lipschitz", C.c_double), ("smooth", C.c_double), ("c", C.c_double), ("steps", C.c_double),
                ("lr", C.c_double), ("batch", C.c_double), ("beta", C.c_double), ("adam", C.c_bool)]


class mete_bound_setting(C.Structure):
    _fields_ = [("estimator", C.c_int), ("n", C.c_double), ("m", C.c_double), ("delta", C.c_double),
                ("max_loss", C.c_double), ("loss_seen", C.c_double), ("rescale", C.c_bool), ("tight", C.c_bool),
                ("outer", mete_sgm), ("inner", mete_sgm)]


class mete_bound(C.Structure):
    _fields_ = [("n", C.c_double), ("m", C.c_double), ("outer_c", C.c_double), ("outer_beta", C.c_double),
                ("inner_c", C.c_double), ("inner_beta", C.c_double), ("outer", C.c_double), ("inner", C.c_double),
                ("total", C.c_double), ("vacuous", C.c_bool)]


class mete_study(C.Structure):
    _fields_ = [("bench", text), ("method", text), ("net", text), ("labels", text), ("device", text), ("set", texts),
                ("seed", C.c_uint64), ("threads", C.c_int), ("tasks", C.c_int), ("fresh", C.c_int),
                ("removals", C.c_int), ("probed", C.c_int), ("max_loss", C.c_double), ("delta", C.c_double)]


class mete_measured(C.Structure):
    _fields_ = [("largest", C.c_double), ("mean", C.c_double), ("half", C.c_double)]


class mete_stability(C.Structure):
    _fields_ = [("estimator", C.c_int), ("n", C.c_int), ("m", C.c_int), ("outer_steps", C.c_int),
                ("inner_steps", C.c_int), ("removals", C.c_int), ("fresh", C.c_int), ("max_loss", C.c_double),
                ("delta", C.c_double), ("outer_beta", mete_measured), ("inner_beta", mete_measured),
                ("exceeding", C.c_double), ("outer_l", C.c_double), ("outer_gamma", C.c_double),
                ("inner_l", C.c_double), ("inner_gamma", C.c_double), ("objective", mete_measured),
                ("risk", mete_measured), ("gap", C.c_double), ("gap_half", C.c_double), ("gap_outer", C.c_double),
                ("gap_inner", C.c_double), ("by_beta", mete_bound), ("by_lemma", mete_bound)]
