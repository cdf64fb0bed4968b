from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Empty(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListAnswer(_message.Message):
    __slots__ = ("pods",)
    PODS_FIELD_NUMBER: _ClassVar[int]
    pods: _containers.RepeatedCompositeFieldContainer[Pod]
    def __init__(self, pods: _Optional[_Iterable[_Union[Pod, _Mapping]]] = ...) -> None: ...

class Pod(_message.Message):
    __slots__ = ("name", "namespace", "containers")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    namespace: str
    containers: _containers.RepeatedCompositeFieldContainer[Container]
    def __init__(self, name: _Optional[str] = ..., namespace: _Optional[str] = ..., containers: _Optional[_Iterable[_Union[Container, _Mapping]]] = ...) -> None: ...

class Container(_message.Message):
    __slots__ = ("name", "devices", "claims")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    name: str
    devices: _containers.RepeatedCompositeFieldContainer[Devices]
    claims: _containers.RepeatedCompositeFieldContainer[Claim]
    def __init__(self, name: _Optional[str] = ..., devices: _Optional[_Iterable[_Union[Devices, _Mapping]]] = ..., claims: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ...) -> None: ...

class Devices(_message.Message):
    __slots__ = ("resource", "ids")
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    resource: str
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, resource: _Optional[str] = ..., ids: _Optional[_Iterable[str]] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("name", "namespace", "devices")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    name: str
    namespace: str
    devices: _containers.RepeatedCompositeFieldContainer[ClaimDevice]
    def __init__(self, name: _Optional[str] = ..., namespace: _Optional[str] = ..., devices: _Optional[_Iterable[_Union[ClaimDevice, _Mapping]]] = ...) -> None: ...

class ClaimDevice(_message.Message):
    __slots__ = ("cdi_devices", "driver", "pool", "device")
    CDI_DEVICES_FIELD_NUMBER: _ClassVar[int]
    DRIVER_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    cdi_devices: _containers.RepeatedCompositeFieldContainer[CdiDevice]
    driver: str
    pool: str
    device: str
    def __init__(self, cdi_devices: _Optional[_Iterable[_Union[CdiDevice, _Mapping]]] = ..., driver: _Optional[str] = ..., pool: _Optional[str] = ..., device: _Optional[str] = ...) -> None: ...

class CdiDevice(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class AllocatableAnswer(_message.Message):
    __slots__ = ("devices",)
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    devices: _containers.RepeatedCompositeFieldContainer[Devices]
    def __init__(self, devices: _Optional[_Iterable[_Union[Devices, _Mapping]]] = ...) -> None: ...
