"""The door: who asks, for what, may they, and which handler answers."""

import hashlib
import logging
import uuid
from email.utils import formatdate

import msgspec
from aiohttp import web

from cockpit.kube.server_time import CLUSTER_TIME
from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.http import nodes, proxy, watches, writes
from cockpit.sim.server.http.accept import form_of
from cockpit.sim.server.http.answers import answer, compressed, refused
from cockpit.sim.server.http.audit import AuditEvent
from cockpit.sim.server.http.bodies import object_of, typed
from cockpit.sim.server.http.certificates import subject_of
from cockpit.sim.server.http.discovery import SUBRESOURCES
from cockpit.sim.server.http.mounts import mount_of
from cockpit.sim.server.http.query import list_options
from cockpit.sim.server.http.representation import Representation, encode
from cockpit.sim.server.http.server_context import VERSION, ApiRequest, ServerContext
from cockpit.sim.server.http.statuses import wrong_method
from cockpit.sim.server.http.target import RequestTarget, target_of
from cockpit.sim.server.rbac.attributes import AUTHENTICATED, forbidden
from cockpit.sim.server.rbac.impersonation import impersonated
from cockpit.sim.server.rbac.reviews import REVIEW_RESOURCES
from cockpit.sim.server.rbac.reviews import answer as answer_review
from cockpit.sim.server.refusals import unknown_path
from cockpit.sim.server.request import User

_log = logging.getLogger(__name__)

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_AUDIT_ID = web.RequestKey("audit_id", str)
_OPENAPI_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_OPENAPI_V2 = b'{"swagger":"2.0","info":{"title":"Kubernetes","version":"1.36"},"paths":{},"definitions":{}}'
_OPENAPI_V2_AS_PROTOBUF = b"\n\x032.0\x12\x12\n\nKubernetes\x12\x041.36"
"""No definitions (gnostic's openapi.v2.Document): kubectl asks for v2 where v3 lacks a group and version."""
_HEALTH = ("/healthz", "/livez", "/readyz")
_REVIEW_GROUPS = ("authorization.k8s.io", "authentication.k8s.io")


class Handler:
    """Handles every request of one server."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context

    async def handle(self, http: web.Request) -> web.StreamResponse:
        """One request, whatever it is; refusals become a Status, faults of the server a 500."""
        context = self._context
        began = context.clock.now()
        audit_id = _audit_id(http, context)
        http[_AUDIT_ID] = audit_id
        target = target_of(http.method, http.rel_url.raw_path, http.query)
        user: User | None = None
        acting: User | None = None
        code = 499
        try:
            user = self._user(http)
            acting = impersonated(context.authoriser, user, http.headers.items(), target.attributes)
            response = await self._answered(http, target, acting)
            code = response.status
        except PortError as error:
            code = error.status
            response = refused(error)
        except (web.HTTPException, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 - a fault of one request ends no server
            _log.exception("%s %s failed", http.method, http.path)
            code = 500
            response = refused(PortError(500, "InternalError", f"Internal error occurred: {error!r}"))
        finally:
            if target.is_resource:
                agent, address = http.headers.get("User-Agent", ""), http.remote or ""
                other = acting if acting is not user else None
                entry = AuditEvent(audit_id, target, user, other, http.raw_path, agent, address, code, began)
                context.audit.write(entry)
        return response

    def _user(self, http: web.Request) -> User:
        """By bearer token, else by client certificate, else nobody in particular."""
        header = http.headers.get("Authorization")
        if not header:
            transport = http.transport
            name, groups = subject_of(transport.get_extra_info("peercert") if transport else None)
            if name:
                return User(name, (*groups, AUTHENTICATED))
        return self._context.tokens.authenticate(header)

    async def _answered(self, http: web.Request, target: RequestTarget, user: User) -> web.StreamResponse:
        context = self._context
        asked = target.attributes
        decision = context.authoriser.decide(user, asked)
        if not decision.allowed:
            raise forbidden(user, asked, decision.reason)
        if not target.is_resource:
            return await self._plain(http, target.path)
        mount = mount_of(context.discovery.mounts, http.path)
        if mount is not None:
            if http.method not in ("GET", "HEAD"):
                raise wrong_method()
            rest = http.path.removeprefix(mount.prefix)
            return await compressed(http, encode(mount.answer(rest, http.query)))
        kind = context.operations.kinds.find(target.group, target.version, target.plural)
        if kind is None and not context.discovery.has_own(target.group, target.version):
            return _no_page()
        if kind is None or not _fits(kind.resource.namespaced, target):
            raise unknown_path()
        request = ApiRequest(http=http, target=target, user=user, kind=kind)
        if target.group in _REVIEW_GROUPS and target.plural in REVIEW_RESOURCES:
            return await self._review(request)
        if target.subresource and target.subresource not in ("status", "scale"):
            return await self._subresource(request)
        return await self._object(request)

    async def _object(self, asked: ApiRequest) -> web.StreamResponse:
        context, kind, target = self._context, asked.kind, asked.target
        if target.subresource == "status" and not kind.has_status:
            raise unknown_path()
        if target.subresource == "scale" and kind.scale is None:
            raise unknown_path()
        if not _is_possible(asked):
            raise wrong_method()
        shown = self._shown(asked)
        if target.verb == "get":
            return await compressed(asked.http, shown.one(context.operations.get(asked.request())))
        if target.verb == "list":
            listing = context.operations.list(asked.request(name=""), list_options(asked.query))
            return await compressed(asked.http, shown.listing(listing))
        if target.verb == "watch":
            return await watches.watch(context, asked, shown)
        return await writes.write(context, asked, shown)

    def _shown(self, asked: ApiRequest) -> Representation:
        context = self._context
        form = form_of(asked.http.headers.get("Accept", ""))
        include = asked.query.get("includeObject", "")
        return Representation(asked.kind, context.operations.storage, form, include, context.clock.now())

    async def _subresource(self, asked: ApiRequest) -> web.StreamResponse:
        context, target = self._context, asked.target
        known = SUBRESOURCES.get(target.plural, {}) if not target.group else {}
        if target.subresource not in known or not target.name:
            raise unknown_path()
        if target.verb not in known[target.subresource][1]:
            raise wrong_method()
        if target.subresource == "log":
            return await nodes.log(context, asked)
        if target.subresource in ("exec", "attach"):
            self._may_also_create(asked)
            return await nodes.run(context, asked, target.subresource)
        if target.subresource == "portforward":
            self._may_also_create(asked)
            return await nodes.forward(context, asked)
        if target.subresource == "proxy":
            return await proxy.proxy(context, asked)
        return await writes.create(context, asked, self._shown(asked))

    def _may_also_create(self, asked: ApiRequest) -> None:
        """A websocket begins with a GET, but running a command takes the right to create (KEP-4006)."""
        attributes = msgspec.structs.replace(asked.target, verb="create").attributes
        decision = self._context.authoriser.decide(asked.user, attributes)
        if not decision.allowed:
            raise forbidden(asked.user, attributes, decision.reason)

    async def _review(self, asked: ApiRequest) -> web.Response:
        target = asked.target
        if target.verb != "create" or target.name:
            raise wrong_method()
        context, http = self._context, asked.http
        resource = asked.kind.resource
        content_type = http.headers.get("Content-Type", "")
        tree = object_of(await writes.body_of(asked), content_type, resource.kind)
        tree = {**tree, **typed(tree, resource.api_version, resource.kind)}
        told = answer_review(
            context.authoriser,
            asked.user,
            target.plural,
            tree,
            namespace=target.namespace,
            now=context.clock.now(),
        )
        return answer(told, 201)

    async def _plain(self, http: web.Request, path: str) -> web.Response:
        """Paths that are no resource."""
        if http.method not in ("GET", "HEAD"):
            raise wrong_method()
        if path.rstrip("/") in _HEALTH or path.startswith(tuple(f"{one}/" for one in _HEALTH)):
            return answer(b"ok", content_type="text/plain; charset=utf-8")
        if path.rstrip("/") == "/version":
            return answer(VERSION)
        if path.startswith("/openapi/"):
            return await self._openapi(http, path)
        found = self._discovered(http, path)
        if found is None:
            return _no_page()
        return found

    def _discovered(self, http: web.Request, path: str) -> web.Response | None:
        parts = [part for part in path.split("/") if part]
        discovery = self._context.discovery
        tree: Tree | None = None
        if parts in (["api"], ["apis"]):
            core = parts == ["api"]
            if form_of(http.headers.get("Accept", ""), discovery=True).as_ == "APIGroupDiscoveryList":
                return _tagged(http, encode(discovery.aggregated(core=core)), _AGGREGATED)
            tree = discovery.core() if core else discovery.others()
        elif len(parts) == 2 and parts[0] == "apis":
            tree = discovery.group(parts[1])
        elif len(parts) == 2 and parts[0] == "api":
            tree = discovery.resources("", parts[1])
        elif len(parts) == 3 and parts[0] == "apis":
            tree = discovery.resources(parts[1], parts[2])
        elif not parts:
            tree = {"paths": self._paths()}
        return None if tree is None else answer(tree)

    def _paths(self) -> list[str]:
        paths = ["/api", "/api/v1", "/apis"]
        for group, versions in self._context.discovery.groups().items():
            if group:
                paths += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)]
        return [*paths, *_HEALTH, "/openapi/v2", "/openapi/v3", "/version"]

    async def _openapi(self, http: web.Request, path: str) -> web.Response:
        documents = self._context.documents
        body: bytes | None = None
        if documents is not None:
            name = path.removeprefix("/openapi/").rstrip("/")
            if name == "v2" and "protobuf" in http.headers.get("Accept", ""):
                return answer(_OPENAPI_V2_AS_PROTOBUF, content_type=_OPENAPI_PROTOBUF)
            if name == "v2":
                body = _OPENAPI_V2
            elif name == "v3":
                body = documents.v3_index()
            elif name.startswith("v3/"):
                body = documents.v3(name.removeprefix("v3/"))
        if body is None:
            return _no_page()
        return await compressed(http, body)


def _no_page() -> web.Response:
    """What is said of a path that no part of the server knows."""
    return answer(b"404 page not found\n", 404, content_type="text/plain; charset=utf-8")


def _tagged(http: web.Request, body: bytes, content_type: str) -> web.Response:
    """With an ETag, and nothing but 304 for who has it already."""
    tag = f'"{hashlib.sha256(body).hexdigest().upper()}"'
    headers = {"ETag": tag, "Vary": "Accept"}
    if http.headers.get("If-None-Match") == tag:
        return web.Response(status=304, headers=headers)
    return answer(body, headers=headers, content_type=content_type)


def _fits(namespaced: bool, target: RequestTarget) -> bool:
    """A namespaced object is named with its namespace; what has none is not looked for in one."""
    if namespaced:
        return bool(target.namespace) or not target.name
    return not target.namespace or target.plural == "namespaces"


def _is_possible(asked: ApiRequest) -> bool:
    kind, target = asked.kind, asked.target
    if target.subresource:
        return target.verb in ("get", "update", "patch")
    if target.verb not in kind.verbs:
        return False
    if kind.resource.namespaced and not target.namespace:
        return target.verb in ("list", "watch")
    return bool(target.name) is (target.verb in ("get", "update", "patch", "delete"))


def _audit_id(http: web.Request, context: ServerContext) -> str:
    given = http.headers.get("Audit-ID", "")
    if given and len(given) <= 64 and given.isascii() and given.isprintable():
        return given
    return str(uuid.UUID(int=context.random.getrandbits(128), version=4))


_MOST_BODY_BYTES = 3 << 20
"""kube-apiserver: MaxRequestBodyBytes."""


def application(context: ServerContext) -> web.Application:
    """The whole server as an aiohttp application."""

    async def mark(http: web.Request, response: web.StreamResponse) -> None:
        """Gives every answer the id under which the audit log has it, and the cluster's time."""
        response.headers["Audit-Id"] = http.get(_AUDIT_ID, "")
        seconds = context.clock.now()
        response.headers["Date"] = formatdate(seconds, usegmt=True)
        response.headers[CLUSTER_TIME] = f"{seconds:.6f}; pace={context.clock.cluster_pace():g}"

    made = web.Application(client_max_size=_MOST_BODY_BYTES)
    made.router.add_route("*", "/{path:.*}", Handler(context).handle)
    made.on_response_prepare.append(mark)
    return made
