"""The steps of a dataset build, in order."""

from enum import StrEnum


class DatasetStep(StrEnum):
    DISCOVER = "discover"
    DOWNLOAD = "download"
    VALIDATE = "validate"
    DEDUPLICATE = "deduplicate"
    LABEL = "label"
    EXPORT = "export"
    REPORT = "report"
    CLEAN_UP = "clean_up"


ALL_STEPS = tuple(DatasetStep)
