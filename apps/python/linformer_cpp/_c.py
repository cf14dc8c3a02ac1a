"""Declares structs and functions of the C API for ctypes. The header linformer.h explains them."""
import ctypes
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64,
                    c_size_t, c_uint8, c_uint32, c_uint64, c_void_p)


class Sized(Structure):
    """A struct that begins with its size. If it has defaults, a function ``lnf_..._init_sized()`` sets them."""

    def __init__(self, **fields):
        super().__init__(ctypes.sizeof(type(self)), **fields)


class Status(Structure):
    _fields_ = [("code", c_int32), ("message", c_char * 384)]


class LoadOptions(Sized):
    _fields_ = [("size", c_size_t), ("verify_below", c_uint64), ("checksums", c_int32), ("read_all", c_int32)]


class ModelInfo(Sized):
    _fields_ = [("size", c_size_t), ("file_bytes", c_uint64), ("max_tokens", c_int64), ("prefix_rows", c_int64),
                ("vocabulary", c_int64), ("vector_width", c_int64), ("width", c_int64), ("layers", c_int32),
                ("heads", c_int32), ("tensors", c_int32), ("pad_id", c_int32), ("mask_id", c_int32),
                ("tokenizer", c_int32), ("has_masked_lm", c_int32), ("has_embedding", c_int32),
                ("has_decoder", c_int32)]


class HeadInfo(Sized):
    _fields_ = [("size", c_size_t), ("classes", c_int64), ("kind", c_int32), ("has_labels", c_int32),
                ("compares_two", c_int32), ("each_token", c_int32), ("pooling", c_int32), ("norm", c_int32),
                ("dense", c_int32), ("norm_after_dense", c_int32), ("activation", c_char_p),
                ("score_activation", c_char_p), ("spans", c_int32)]


class SentenceEmbeddingInfo(Sized):
    _fields_ = [("size", c_size_t), ("linear_width", c_int64), ("present", c_int32), ("pooling", c_int32),
                ("norm", c_int32), ("normalize", c_int32), ("activation", c_char_p), ("prompts", c_int32),
                ("default_prompt", c_int32), ("excludes_prompt", c_int32), ("characters_per_token", c_int64)]


class PromptInfo(Sized):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("text", c_char_p)]


Progress = CFUNCTYPE(None, c_void_p, c_double)


class Control(Sized):
    _fields_ = [("size", c_size_t), ("cancel", c_void_p), ("progress", Progress), ("context", c_void_p)]


class SessionOptions(Sized):
    _fields_ = [("size", c_size_t), ("part", c_int32), ("padding", c_int32), ("compute", c_int32),
                ("attention_compute", c_int32), ("threads", c_int32), ("backend", c_int32), ("isa", c_int32),
                ("block_rows", c_int32), ("parallel", c_void_p), ("parallel_context", c_void_p), ("device", c_int32),
                ("tf32", c_int32), ("stream", c_void_p), ("outputs_on_device", c_int32), ("max_tokens", c_int64),
                ("max_batch", c_int64), ("max_rows", c_int64), ("max_encoder_states", c_int64), ("arena", c_void_p),
                ("arena_bytes", c_size_t)]


class TextOptions(Sized):
    _fields_ = [("size", c_size_t), ("max_tokens", c_int64), ("overlap", c_int64), ("max_batch", c_int64),
                ("max_rows", c_int64), ("pad_to", c_int64), ("on_long", c_int32), ("threads", c_int32),
                ("truncation", c_int32), ("keep", c_int32), ("add_special_tokens", c_int32),
                ("match_special_tokens", c_int32), ("padding", c_int32), ("compute", c_int32),
                ("attention_compute", c_int32), ("backend", c_int32), ("isa", c_int32), ("block_rows", c_int32),
                ("device", c_int32), ("tf32", c_int32), ("parallel", c_void_p), ("parallel_context", c_void_p)]


class EncodeOptions(Sized):
    _fields_ = [("size", c_size_t), ("max_length", c_int64), ("truncation", c_int32), ("keep", c_int32),
                ("add_special_tokens", c_int32), ("match_special_tokens", c_int32)]


class Input(Sized):
    _fields_ = [("size", c_size_t), ("ids", POINTER(c_int32)), ("vectors", POINTER(c_float)), ("count", c_size_t),
                ("type_ids", POINTER(c_uint8)), ("mask", POINTER(c_uint8)), ("encoder_states", POINTER(c_float)),
                ("state_count", c_size_t), ("state_mask", POINTER(c_uint8)), ("query_mask", POINTER(c_uint8))]


class Output(Sized):
    _fields_ = [("size", c_size_t), ("kind", c_int32), ("layer", c_int32), ("head", c_int32), ("pooling", c_int32),
                ("positions", c_void_p), ("position_count", c_size_t), ("data", POINTER(c_float)),
                ("capacity", c_size_t), ("rows", c_int64), ("columns", c_int64)]


class TextReport(Sized):
    _fields_ = [("size", c_size_t), ("index", c_size_t), ("code", c_int32), ("message", c_char_p),
                ("tokens", c_int64), ("total_tokens", c_int64), ("windows", c_int64), ("values", POINTER(c_float)),
                ("count", c_size_t), ("limit", c_int32), ("limit_text", c_int32), ("limit_tokens", c_int64),
                ("limit_room", c_int64), ("limit_max_tokens", c_int64), ("limit_other_fits", c_int32),
                ("without_mask", c_int32)]


class Entity(Sized):
    _fields_ = [("size", c_size_t), ("label", c_char_p), ("text", c_void_p), ("bytes", c_size_t),
                ("offset", c_uint32 * 2), ("score", c_float)]


class Tagging(Sized):
    _fields_ = [("size", c_size_t), ("report", POINTER(TextReport)), ("entities", POINTER(Entity)),
                ("entity_count", c_size_t)]


class AnswerSpan(Sized):
    _fields_ = [("size", c_size_t), ("text", c_void_p), ("bytes", c_size_t), ("offset", c_uint32 * 2),
                ("score", c_float), ("no_answer", c_int32)]


class Answers(Sized):
    _fields_ = [("size", c_size_t), ("report", POINTER(TextReport)), ("answers", POINTER(AnswerSpan)),
                ("answer_count", c_size_t)]


class MaskCandidate(Structure):
    _fields_ = [("id", c_int32), ("probability", c_float)]


class MaskedToken(Sized):
    _fields_ = [("size", c_size_t), ("token", c_size_t), ("candidates", POINTER(MaskCandidate)),
                ("candidate_count", c_size_t), ("text", c_int32), ("offset", c_uint32 * 2)]


class MaskFilling(Sized):
    _fields_ = [("size", c_size_t), ("report", POINTER(TextReport)), ("ids", POINTER(c_int32)), ("id_count", c_size_t),
                ("masks", POINTER(MaskedToken)), ("mask_count", c_size_t)]


class Scored(Structure):
    _fields_ = [("index", c_int64), ("score", c_float)]


Visit = CFUNCTYPE(c_int, c_void_p, POINTER(TextReport))
TagVisit = CFUNCTYPE(c_int, c_void_p, POINTER(Tagging))
AnswerVisit = CFUNCTYPE(c_int, c_void_p, POINTER(Answers))
FillVisit = CFUNCTYPE(c_int, c_void_p, POINTER(MaskFilling))

_code, _handle, _texts, _sizes, _status = c_int32, c_void_p, POINTER(c_char_p), POINTER(c_size_t), POINTER(Status)
_made = POINTER(c_void_p)
#: The address of an array of floats. It is passed as an int, because making a pointer object takes longer.
_floats = c_void_p
_one_each = [_texts, _sizes, c_size_t]
_two_each = [_texts, _sizes, _texts, _sizes, c_size_t]

#: Maps names of functions to (result, arguments). Functions that return ``_code`` take a status as the last argument.
FUNCTIONS = {
    "lnf_version": (c_uint32, []),
    "lnf_format_version": (c_uint32, []),
    "lnf_build_info": (c_size_t, [c_char_p, c_size_t]),
    "lnf_load_options_init_sized": (None, [POINTER(LoadOptions), c_size_t]),
    "lnf_model_load": (_code, [c_char_p, POINTER(LoadOptions), _made, _status]),
    "lnf_model_free": (None, [_handle]),
    "lnf_model_verify": (_code, [_handle, _status]),
    "lnf_model_get_info": (_code, [_handle, POINTER(ModelInfo), _status]),
    "lnf_model_get_head": (_code, [_handle, c_int32, POINTER(HeadInfo), _status]),
    "lnf_model_head_name": (c_size_t, [_handle, c_int32, c_char_p, c_size_t]),
    "lnf_model_label": (c_size_t, [_handle, c_int32, c_int64, c_char_p, c_size_t]),
    "lnf_model_dialect": (c_size_t, [_handle, c_char_p, c_size_t]),
    "lnf_model_find_head": (c_int32, [_handle, c_char_p]),
    "lnf_model_get_sentence_embedding": (_code, [_handle, POINTER(SentenceEmbeddingInfo), _status]),
    "lnf_model_get_prompt": (_code, [_handle, c_int32, POINTER(PromptInfo), _status]),
    "lnf_cancel_create": (_handle, []),
    "lnf_cancel_free": (None, [_handle]),
    "lnf_cancel_set": (None, [_handle, c_int32]),
    "lnf_control_init_sized": (None, [POINTER(Control), c_size_t]),
    "lnf_session_options_init_sized": (None, [POINTER(SessionOptions), c_size_t]),
    "lnf_text_options_init_sized": (None, [POINTER(TextOptions), c_size_t]),
    "lnf_encode_options_init_sized": (None, [POINTER(EncodeOptions), c_size_t]),
    "lnf_input_init_sized": (None, [POINTER(Input), c_size_t]),
    "lnf_output_init_sized": (None, [POINTER(Output), c_size_t, c_int32]),
    "lnf_plan_bytes": (_code, [_handle, POINTER(SessionOptions), POINTER(c_uint64), _status]),
    "lnf_plan_precision": (_code, [_handle, POINTER(SessionOptions), c_char_p, c_size_t, POINTER(c_size_t), _status]),
    "lnf_session_create": (_code, [_handle, POINTER(SessionOptions), _made, _status]),
    "lnf_session_free": (None, [_handle]),
    "lnf_shapes": (_code, [_handle, POINTER(Input), c_size_t, POINTER(Output), c_size_t, _status]),
    "lnf_run": (_code, [_handle, POINTER(Input), c_size_t, POINTER(Output), c_size_t, POINTER(Control), _status]),
    "lnf_tokenizer_create": (_code, [_handle, _made, _status]),
    "lnf_tokenizer_free": (None, [_handle]),
    "lnf_encoding_create": (_code, [_made, _status]),
    "lnf_encoding_free": (None, [_handle]),
    "lnf_encode": (_code, [_handle, c_char_p, c_size_t, c_char_p, c_size_t, POINTER(EncodeOptions), _handle, _status]),
    "lnf_encoding_size": (c_size_t, [_handle]),
    "lnf_encoding_ids": (POINTER(c_int32), [_handle]),
    "lnf_encoding_type_ids": (POINTER(c_uint8), [_handle]),
    "lnf_encoding_offsets": (POINTER(c_uint32), [_handle]),
    "lnf_encoding_total": (c_int64, [_handle]),
    "lnf_decode": (_code, [_handle, POINTER(c_int32), c_size_t, c_int32, c_char_p, c_size_t, POINTER(c_size_t),
                           _status]),
    "lnf_classifier_create": (_code, [_handle, POINTER(c_int32), c_size_t, POINTER(TextOptions), _made, _status]),
    "lnf_classifier_free": (None, [_handle]),
    "lnf_classify": (_code, [_handle, *_two_each, _floats, c_size_t, POINTER(Control), _status]),
    "lnf_embedder_create_prompted": (_code, [_handle, c_int32, c_int32, c_int64, c_char_p, POINTER(TextOptions), _made,
                                             _status]),
    "lnf_embedder_free": (None, [_handle]),
    "lnf_embedder_width": (c_int64, [_handle]),
    "lnf_embed": (_code, [_handle, *_one_each, _floats, c_size_t, POINTER(Control), _status]),
    "lnf_runner_create": (_code, [_handle, POINTER(Output), c_size_t, POINTER(TextOptions), _made, _status]),
    "lnf_runner_free": (None, [_handle]),
    "lnf_run_each": (_code, [_handle, *_two_each, Visit, c_void_p, POINTER(Control), _status]),
    "lnf_tagger_create": (_code, [_handle, c_int32, c_int32, POINTER(TextOptions), _made, _status]),
    "lnf_tagger_free": (None, [_handle]),
    "lnf_tag": (_code, [_handle, *_one_each, TagVisit, c_void_p, POINTER(Control), _status]),
    "lnf_answerer_create": (_code, [_handle, c_int64, c_int64, c_int32, c_int32, POINTER(TextOptions), _made, _status]),
    "lnf_answerer_free": (None, [_handle]),
    "lnf_answer": (_code, [_handle, *_two_each, AnswerVisit, c_void_p, POINTER(Control), _status]),
    "lnf_mask_filler_create": (_code, [_handle, c_int64, POINTER(TextOptions), _made, _status]),
    "lnf_mask_filler_free": (None, [_handle]),
    "lnf_mask_filler_mask": (c_size_t, [_handle, c_char_p, c_size_t]),
    "lnf_fill_masks": (_code, [_handle, *_two_each, FillVisit, c_void_p, POINTER(Control), _status]),
    "lnf_reranker_create": (_code, [_handle, c_int32, c_int32, POINTER(TextOptions), _made, _status]),
    "lnf_reranker_free": (None, [_handle]),
    "lnf_rerank": (_code, [_handle, c_char_p, c_size_t, *_one_each, POINTER(Scored), c_size_t, POINTER(c_size_t),
                           POINTER(Control), _status]),
    "lnf_rerank_each": (_code, [_handle, *_two_each, Visit, c_void_p, POINTER(Control), _status]),
}
