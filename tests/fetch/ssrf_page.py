"""A page that asks for every one of many addresses in every way a page has; each way has a port of its own."""

import json

from tests.slack import SLACK

# How long to wait for an event that comes at once on an idle machine. A prefetch is the last thing a browser does.
_PATIENCE_MS = 1_000 * SLACK
_FRAME_PATIENCE_MS = 3_000  # some frames never report
# What a way does with one address. What it returns is waited for, a second at most on an idle machine.
WAYS = {
    # asked for by script
    "fetch": "(u) => fetch(u, {mode: 'no-cors'})",
    "xhr": "(u) => { const x = new XMLHttpRequest(); x.open('GET', u); x.send(); return settled(x, 'loadend'); }",
    "fetch-redirect": "(u) => fetch('/redirect?' + encodeURIComponent(u), {mode: 'no-cors'})",
    "import": "(u) => import(u)",
    "socket": "(u) => opened(new WebSocket(u.replace(/^http/i, 'ws')))",
    "events": "(u) => opened(new EventSource(u))",
    "beacon": "(u) => { navigator.sendBeacon(u, 'x'); return wait(20); }",
    "worker": "(u) => told(worker, u)",
    "shared-worker": "(u) => told(shared.port, u)",
    # asked for by the document
    "image": "(u) => placed('img', {src: u})",
    "script": "(u) => placed('script', {src: u})",
    "style": "(u) => placed('link', {rel: 'stylesheet', href: u})",
    "font": "(u) => new FontFace('f', `url(${JSON.stringify(u)})`).load()",
    "preload": "(u) => placed('link', {rel: 'preload', as: 'fetch', href: u})",
    "prefetch": "(u) => placed('link', {rel: 'prefetch', href: u})",
    "preconnect": "(u) => { placed('link', {rel: 'preconnect', href: u}); return wait(20); }",
    "dns-prefetch": "(u) => { placed('link', {rel: 'dns-prefetch', href: u}); return wait(5); }",
    "ping": "(u) => { element('a', {href: '#', ping: u}).click(); return wait(20); }",
    # navigations
    "frame": "(u) => placed('iframe', {src: u})",
    "frame-meta": "(u) => moved(`<meta http-equiv=refresh content='0;url=${escaped(u)}'>`)",
    "frame-script": "(u) => moved(`<script>location = ${JSON.stringify(u)}</` + 'script>')",
    "frame-form": "(u) => moved(`<form method=post action='${escaped(u)}'></form><script>document.forms[0].submit()</`"
    " + 'script>')",
    # past HTTP
    "stun": "(u) => gathered({urls: `stun:${place(u)}`})",
    "turn": "(u) => gathered({urls: `turn:${place(u)}?transport=tcp`, username: 'a', credential: 'b'})",
    "transport": "(u) => new WebTransport(`https://${place(u)}/`).ready",
    # one that would go on when the page has gone
    "service-worker": "(u) => told(serviceWorker, u)",
}
WORKER = "const ask = (port, u) => fetch(u, {mode: 'no-cors'}).catch(() => 0).then(() => port.postMessage(u));\n"
SERVICE_WORKER = WORKER + (
    "oninstall = () => skipWaiting(); onactivate = () => clients.claim(); onmessage = (e) => ask(e.source, e.data);"
)
# Given every spelling as it is. For the others the page first leaves out what its own parser makes the same address.
RAW = ("stun", "turn")
PAGE = """<title>x</title><p id=done></p><div id=place></div><script type=module>
const wait = (ms) => new Promise((then) => setTimeout(then, ms));
const settled = (thing, ...names) => new Promise((then) => names.forEach((name) => thing.addEventListener(name, then)));
const opened = (thing) => settled(thing, "open", "error").then(() => thing.close());
const element = (tag, attributes) => Object.assign(document.createElement(tag), attributes);
const placed = (tag, attributes) => {
  const made = element(tag, attributes), loaded = settled(made, "load", "error");
  place_.append(made);
  return Promise.race([loaded, wait(tag === "iframe" ? FRAME_PATIENCE : PATIENCE)]).then(() => made.remove());
};
const place_ = document.getElementById("place");
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("'", "&#39;");
const moved = (html) => { // a frame that leaves by itself: it is there once its document is no longer ours to see
  const made = element("iframe", {srcdoc: html});
  const there = new Promise((then) => made.addEventListener("load", () => made.contentDocument ?? then()));
  place_.append(made);
  return Promise.race([there, wait(FRAME_PATIENCE)]).then(() => made.remove());
};
const place = (u) => u.replace(/^[a-z]*:?[/\\\\]*/i, "").replace(/[/?#\\\\].*$/s, "");
const gathered = async (server) => {
  const peer = new RTCPeerConnection({iceServers: [server]});
  peer.createDataChannel("x");
  const over = new Promise((then) => {
    peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && then();
  });
  await peer.setLocalDescription(await peer.createOffer());
  await Promise.race([over, wait(900)]);
  peer.close();
};
const script = (text) => URL.createObjectURL(new Blob([text], {type: "text/javascript"}));
const worker = new Worker(script(WORKER + "onmessage = (e) => ask(self, e.data)"));
const onconnect = "onconnect = ({ports: [p]}) => { p.onmessage = (e) => ask(p, e.data); }";
const shared = new SharedWorker(script(WORKER + onconnect));
shared.port.start();
const serviceWorker = await Promise.race([wait(500), (async () => {
  const all = navigator.serviceWorker;
  await all.register("/service-worker.js");
  all.startMessages();
  const found = (await all.ready).active;
  return {
    postMessage: (u) => found.postMessage(u),
    addEventListener: (...more) => all.addEventListener(...more),
    removeEventListener: (...more) => all.removeEventListener(...more),
  };
})().catch(() => null)]);
const told = (thing, u) => new Promise((then) => {
  const heard = (e) => { if (e.data === u) { thing.removeEventListener("message", heard); then(); } };
  thing.addEventListener("message", heard);
  thing.postMessage(u);
});
const holding = new AbortController(); // a page that waits for nothing is taken as it is
fetch("/silent", {signal: holding.signal}).catch(() => 0);
const ways = {WAYS};
// Two that are the same place to the page's own parser are the same request. What it cannot read is tried as it is.
const place_of = (u) => {
  const {protocol, username, host} = new URL(u, location);
  return `${protocol}${username}@${host}`;
};
const is_readable = (u) => URL.canParse(u, location);
const is_web = (u) => /^(http|ws)s?:$/.test(new URL(u, location).protocol);
const distinct = (urls) => [...new Map(urls.map((u) => [is_readable(u) ? place_of(u) : u, u])).values()];
const done = {};
const all = async (name, urls) => {
  const is_frame = name.startsWith("frame");
  const left = RAW.includes(name) ? [...urls] : distinct(is_frame ? urls.filter(is_readable) : urls);
  const about = done[name] = {given: urls.length, asked: left.length, tried: 0};
  const work = async () => {
    for (let u; (u = left.pop()) !== undefined; about.tried++) {
      // An element may not tell of what it cannot read, nor of what is no address on the web.
      const longest = is_frame ? FRAME_PATIENCE : name === "transport" ? 1000 : PATIENCE; // a transport has no server
      const patience = !is_readable(u) ? 5 : !is_web(u) ? 100 : longest;
      await Promise.race([Promise.resolve().then(() => ways[name](u)).catch(() => 0), wait(patience)]);
    }
  };
  // Those that have failed make the next ones wait.
  await Promise.all(Array.from({length: ["socket", "transport"].includes(name) ? 100 : 12}, work));
};
const wanted = await (await fetch("/payloads")).json();
await Promise.all(Object.entries(wanted).map(([name, urls]) => all(name, urls)));
await wait(300);
document.getElementById("done").textContent = JSON.stringify(done);
holding.abort();
</script>"""


def page() -> str:
    ways = ", ".join(f"{json.dumps(name)}: {way}" for name, way in WAYS.items())
    html = PAGE.replace("WAYS", ways).replace("RAW.", json.dumps(RAW) + ".")
    html = html.replace("FRAME_PATIENCE", str(_FRAME_PATIENCE_MS)).replace("PATIENCE", str(_PATIENCE_MS))
    return html.replace("(WORKER", f"({json.dumps(WORKER)}")
