"""Finds libmete.so and says what its functions take."""
from __future__ import annotations

import ctypes as C
import glob
import os
from typing import Any, Dict, List, Tuple

from . import _structs as S

HERE = os.path.dirname(os.path.abspath(__file__))


def candidates() -> List[str]:
    """Where the library may be: $METE_LIBRARY alone, else in the wheel, else in a build folder."""
    named = os.environ.get("METE_LIBRARY")
    if named:
        return [named]
    found = [os.path.join(HERE, "libmete.so")]
    root = os.path.dirname(os.path.dirname(HERE))
    if os.path.exists(os.path.join(root, "include", "mete.h")):
        built = glob.glob(os.path.join(root, "build*", "libmete.so"))
        built = [p for p in built if "san" not in os.path.basename(os.path.dirname(p))]
        found += sorted(built, key=os.path.getmtime, reverse=True)
    return found


def load() -> C.CDLL:
    paths = candidates()
    path = next((p for p in paths if os.path.exists(p)), None)
    if path is None:
        raise ImportError("mete: there is no libmete.so (looked for %s); build it (cmake -B build && cmake --build "
                          "build) or set METE_LIBRARY to its path" % ", ".join(paths))
    try:
        library = C.CDLL(path)
    except OSError as error:
        raise ImportError("mete: %s cannot be loaded: %s" % (path, error)) from error
    try:
        declare(library)
    except AttributeError as error:
        raise ImportError("mete: %s is not of this package's version: %s" % (path, error)) from error
    return library


model, data, table, i32, f32 = C.c_void_p, C.c_void_p, C.c_void_p, C.c_void_p, C.c_void_p
out = C.POINTER(C.c_void_p)


def ref(struct: Any) -> Any:
    return C.POINTER(struct)


FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "mete_version": (S.text, []),
    "mete_errmsg": (S.text, []),
    "mete_errname": (S.text, [C.c_int]),
    "mete_errtext": (S.text, [C.c_int]),
    "mete_log_to": (None, [S.mete_log_fn, S.pointer]),
    "mete_progress_to": (None, [S.mete_progress_fn, S.pointer]),
    "mete_free": (None, [S.pointer]),
    "mete_data_import": (C.c_int, [ref(S.mete_import_options)]),
    "mete_data_make": (C.c_int, [out, ref(S.mete_data_parts)]),
    "mete_data_open": (C.c_int, [out, S.text]),
    "mete_data_save": (C.c_int, [data, S.text, C.c_int32]),
    "mete_data_close": (None, [data]),
    "mete_data_describe": (C.c_int, [data, ref(S.mete_data_info)]),
    "mete_data_arrays": (C.c_int, [data, ref(S.mete_array), out, out, out]),
    "mete_data_class": (S.text, [data, C.c_int32]),
    "mete_data_user": (S.text, [data, C.c_int32]),
    "mete_model_load": (C.c_int, [out, S.text, ref(S.mete_model_options)]),
    "mete_model_load_bytes": (C.c_int, [out, S.pointer, C.c_size_t, ref(S.mete_model_options)]),
    "mete_model_save": (C.c_int, [model, S.text]),
    "mete_model_bytes": (C.c_int, [model, out, C.POINTER(C.c_size_t)]),
    "mete_model_close": (None, [model]),
    "mete_model_info": (C.c_int, [model, ref(S.mete_model_info)]),
    "mete_model_says": (S.text, [model, S.text]),
    "mete_model_class": (S.text, [model, C.c_int32]),
    "mete_model_feature": (S.text, [model, C.c_int32]),
    "mete_model_name_classes": (C.c_int, [model, S.texts]),
    "mete_model_tensor": (C.c_int, [model, C.c_int32, ref(S.mete_tensor), f32]),
    "mete_model_set_tensor": (C.c_int, [model, S.text, f32, C.c_int64]),
    "mete_adapt": (C.c_int, [model, ref(S.mete_array), i32]),
    "mete_predict": (C.c_int, [model, ref(S.mete_array), f32]),
    "mete_embed": (C.c_int, [model, ref(S.mete_array), f32]),
    "mete_suggest": (C.c_int, [model, S.text, ref(S.mete_array), i32, C.c_int32, C.c_uint64, i32,
                               C.POINTER(C.c_int32)]),
    "mete_fit": (C.c_int, [ref(S.mete_fit_options), out]),
    "mete_eval": (C.c_int, [ref(S.mete_eval_options)]),
    "mete_run": (C.c_int, [ref(S.mete_run_options)]),
    "mete_results": (C.c_int, [ref(S.mete_results_options), out]),
    "mete_table_open": (C.c_int, [out, S.text, S.text]),
    "mete_table_columns": (C.c_int32, [table, C.POINTER(C.c_int64)]),
    "mete_table_column": (S.text, [table, C.c_int32, C.POINTER(C.POINTER(C.c_double)), C.POINTER(S.texts)]),
    "mete_table_close": (None, [table]),
    "mete_report": (C.c_int, [ref(S.mete_report_options)]),
    "mete_plan": (C.c_int, [ref(S.mete_plan_options), S.text, out]),
    "mete_plan_page": (C.c_int, [S.text, S.text]),
    "mete_fail": (C.c_int, [C.c_int, S.text]),
    "mete_learner_add": (C.c_int, [ref(S.mete_learner_ops), S.pointer]),
    "mete_learner_remove": (C.c_int, [S.text]),
    "mete_strategy_add": (C.c_int, [ref(S.mete_strategy_ops), S.pointer]),
    "mete_strategy_remove": (C.c_int, [S.text]),
    "mete_bound_defaults": (S.mete_bound_setting, []),
    "mete_bound_method": (C.c_int, [S.text, C.POINTER(C.c_int)]),
    "mete_bound": (C.c_int, [ref(S.mete_bound_setting), ref(S.mete_bound)]),
    "mete_bound_note": (C.c_bool, [ref(S.mete_bound_setting), C.c_int, C.POINTER(S.text), C.POINTER(C.c_bool),
                                   C.c_char_p, C.c_size_t]),
    "mete_study_defaults": (S.mete_study, []),
    "mete_stability": (C.c_int, [ref(S.mete_study), ref(S.mete_stability)]),
}


def declare(library: C.CDLL) -> None:
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


lib = load()
