// Node loads this before a script, because versions before 22.21 and 24 do not use HTTP_PROXY by themselves.
// It changes only defaults: a script that sets a dispatcher or an agent of its own keeps it.
"use strict";

const http = require("node:http");
const https = require("node:https");
const net = require("node:net");
const tls = require("node:tls");

const DISPATCHER = Symbol.for("undici.globalDispatcher.1");

function readProxy() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const readsVariables = major >= 24 || (major === 22 && minor >= 21);
  const configured = process.env.HTTP_PROXY;
  return readsVariables || !configured ? null : new URL(configured);
}

function isExempt(host) {
  const rules = (process.env.NO_PROXY || process.env.no_proxy || "").split(",").map((rule) => rule.trim());
  return rules.some((rule) => rule === "*" || (rule && (host === rule || host.endsWith(`.${rule.replace(/^\*?\./, "")}`))));
}

function credentialsOf(proxy) {
  const text = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return `Basic ${Buffer.from(text).toString("base64")}`;
}

function bracket(host) {
  return net.isIPv6(host) ? `[${host}]` : host;
}

// Opens a connection to `host` through the proxy; `done` gets an error or the socket.
function openTunnel(proxy, host, port, done) {
  const target = `${bracket(host)}:${port}`;
  const socket = net.connect(Number(proxy.port), proxy.hostname);
  let head = "";
  const fail = (error) => {
    socket.destroy();
    done(error);
  };
  const read = (piece) => {
    head += piece.toString("latin1");
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    socket.off("data", read).off("error", fail);
    if (/^HTTP\/1\.[01] 200 /.test(head)) done(null, socket);
    else fail(new Error(`the proxy refused ${target}: ${head.slice(0, head.indexOf("\r\n"))}`));
  };
  socket.on("error", fail).on("data", read);
  const lines = [`CONNECT ${target} HTTP/1.1`, `Host: ${target}`, `Proxy-Authorization: ${credentialsOf(proxy)}`];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
}

function openSecure(proxy, options, done) {
  const host = options.hostname || options.host;
  openTunnel(proxy, host, options.port || 443, (error, socket) => {
    if (error) return done(error);
    const servername = options.servername || (net.isIP(host) ? undefined : host);
    const secure = tls.connect({ ALPNProtocols: ["http/1.1"], ...options, host, socket, servername });
    const fail = (problem) => done(problem);
    secure.once("error", fail).once("secureConnect", () => done(null, secure.off("error", fail)));
  });
}

function addHeaders(headers, more) {
  if (Array.isArray(headers)) return [...headers, ...Object.entries(more).flat()];
  return { ...(headers || {}), ...more };
}

// `fetch` of Node itself.
function patchFetch(proxy) {
  void globalThis.Response; // loads its HTTP client, which sets the dispatcher
  const direct = globalThis[DISPATCHER];
  if (!direct) return;
  const secure = new direct.constructor({ connect: (options, done) => openSecure(proxy, options, done) });
  const routed = Object.create(direct);
  routed.dispatch = (options, handler) => {
    const origin = new URL(options.origin);
    if (isExempt(origin.hostname)) return direct.dispatch(options, handler);
    if (origin.protocol === "https:") return secure.dispatch(options, handler);
    const headers = addHeaders(options.headers, { host: origin.host, "proxy-authorization": credentialsOf(proxy) });
    const path = new URL(options.path, origin).href;
    return direct.dispatch({ ...options, origin: proxy.origin, path, headers }, handler);
  };
  globalThis[DISPATCHER] = routed;
}

// `http.request` and `https.request`, which axios, got and others use.
function patchAgents(proxy) {
  const addRequest = http.Agent.prototype.addRequest;
  http.Agent.prototype.addRequest = function add(request, options, ...rest) {
    const isPlain = !(this instanceof https.Agent) && request.protocol === "http:";
    const host = options.hostname || options.host;
    if (!isPlain || options.socketPath || request._header || isExempt(host)) {
      return addRequest.call(this, request, options, ...rest);
    }
    const port = Number(options.port || 80) === 80 ? "" : `:${options.port}`;
    request.path = `http://${bracket(host)}${port}${request.path}`;
    request.setHeader("Proxy-Authorization", credentialsOf(proxy));
    const changed = { ...options, host: proxy.hostname, hostname: proxy.hostname, port: Number(proxy.port) };
    return addRequest.call(this, request, changed, ...rest);
  };
  const connect = https.Agent.prototype.createConnection;
  https.Agent.prototype.createConnection = function create(options, done) {
    const host = options.hostname || options.host;
    if (options.socket || options.socketPath || !done || isExempt(host)) return connect.call(this, options, done);
    openSecure(proxy, options, done);
    return undefined;
  };
}

try {
  const proxy = readProxy();
  if (proxy) {
    patchFetch(proxy);
    patchAgents(proxy);
  }
} catch {
  // If another version of Node does not fit the patch, the script connects directly.
}
