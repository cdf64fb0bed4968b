from cockpit.kube.proto import core_pb2 as _core_pb2
from cockpit.kube.proto import meta_pb2 as _meta_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class JobSpec(_message.Message):
    __slots__ = ("parallelism", "completions", "template", "suspend")
    PARALLELISM_FIELD_NUMBER: _ClassVar[int]
    COMPLETIONS_FIELD_NUMBER: _ClassVar[int]
    TEMPLATE_FIELD_NUMBER: _ClassVar[int]
    SUSPEND_FIELD_NUMBER: _ClassVar[int]
    parallelism: int
    completions: int
    template: _core_pb2.PodTemplateSpec
    suspend: bool
    def __init__(self, parallelism: _Optional[int] = ..., completions: _Optional[int] = ..., template: _Optional[_Union[_core_pb2.PodTemplateSpec, _Mapping]] = ..., suspend: _Optional[bool] = ...) -> None: ...

class JobStatus(_message.Message):
    __slots__ = ("conditions", "start_time", "completion_time", "active", "succeeded", "failed")
    CONDITIONS_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    COMPLETION_TIME_FIELD_NUMBER: _ClassVar[int]
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    conditions: _containers.RepeatedCompositeFieldContainer[_core_pb2.PodCondition]
    start_time: _meta_pb2.Time
    completion_time: _meta_pb2.Time
    active: int
    succeeded: int
    failed: int
    def __init__(self, conditions: _Optional[_Iterable[_Union[_core_pb2.PodCondition, _Mapping]]] = ..., start_time: _Optional[_Union[_meta_pb2.Time, _Mapping]] = ..., completion_time: _Optional[_Union[_meta_pb2.Time, _Mapping]] = ..., active: _Optional[int] = ..., succeeded: _Optional[int] = ..., failed: _Optional[int] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ("metadata", "spec", "status")
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    metadata: _meta_pb2.ObjectMeta
    spec: JobSpec
    status: JobStatus
    def __init__(self, metadata: _Optional[_Union[_meta_pb2.ObjectMeta, _Mapping]] = ..., spec: _Optional[_Union[JobSpec, _Mapping]] = ..., status: _Optional[_Union[JobStatus, _Mapping]] = ...) -> None: ...
