// A server that speaks HTTP/2 only, one route per misbehaviour: node h2_server.js CERTIFICATE KEY. Prints its port.
const fs = require("node:fs");
const http2 = require("node:http2");
const zlib = require("node:zlib");

const PAGE = "<title>HTTP/2</title><p class=price>9.50</p>";
const HTML = { ":status": 200, "content-type": "text/html" };
// Comments cost a browser no layout: what it does with them is about their size only.
const COMMENT = "<!--" + "x".repeat(65529) + "-->";
const BOMB = zlib.gzipSync(Buffer.from("<title>Bomb</title><p>" + COMMENT.repeat(1000)));
const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`x-${n}`, "a"]));

function again(stream, data, everyMs) {
  const timer = setInterval(() => (stream.destroyed ? clearInterval(timer) : stream.write(data)), everyMs);
}

function pour(stream) {
  const piece = Buffer.from(COMMENT);
  const more = () => {
    while (!stream.destroyed && stream.write(piece));
  };
  stream.on("drain", more);
  more();
}

function answer(stream, headers, body) {
  stream.respond({ ...HTML, ...headers });
  stream.end(body);
}

const routes = {
  "/gzip": (s) => answer(s, { "content-encoding": "gzip" }, zlib.gzipSync(PAGE)),
  "/to-page": (s) => answer(s, { ":status": 302, location: "/page" }),
  "/loop": (s) => answer(s, { ":status": 302, location: "/loop" }),
  "/to-metadata": (s) => answer(s, { ":status": 302, location: "http://169.254.169.254/" }),
  "/status-403": (s) => answer(s, { ":status": 403 }, "<title>No</title>"),
  "/silent": () => {},
  "/trickle": (s) => (s.respond(HTML), again(s, "x", 100)),
  "/stops-midway": (s) => (s.respond(HTML), s.write("hello")),
  "/endless": (s) => (s.respond(HTML), s.write("<title>Endless</title><p>"), pour(s)),
  "/gzip-bomb": (s) => answer(s, { "content-encoding": "gzip" }, BOMB),
  "/reset": (s) => s.destroy(new Error("reset")),
  "/reset-midway": (s) => {
    s.respond(HTML);
    s.write("hello");
    setTimeout(() => s.destroy(new Error("reset")), 50); // close() would end the body first
  },
  "/goaway": (s) => s.session.destroy(undefined, http2.constants.NGHTTP2_ENHANCE_YOUR_CALM),
  "/short": (s) => answer(s, { "content-length": 500 }, "hello"),
  "/300-headers": (s) => answer(s, many, PAGE),
  "/100kb-header": (s) => answer(s, { "x-large": "a".repeat(100_000) }, PAGE),
};

process.stdin.resume().on("end", () => process.exit()); // with whoever started it
const [certificate, key] = process.argv.slice(2);
const server = http2.createSecureServer({
  cert: fs.readFileSync(certificate),
  key: fs.readFileSync(key),
  maxSendHeaderBlockLength: 1_000_000,
});
server.on("session", (session) => session.on("error", () => {}));
server.on("stream", (stream, headers) => {
  stream.on("error", () => {});
  const route = routes[headers[":path"]];
  if (route) route(stream);
  else answer(stream, {}, PAGE);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
