// Gives a published client another base address, from outside: node --import this file,
// or, for the processes that it starts, too, NODE_OPTIONS.
// What the client sends to SERVICE over TLS goes to the API at API instead, in plain
// HTTP. Whatever goes elsewhere than to this machine is refused, and written to the file
// REFUSED. No file of the client is touched.
import { subscribe } from "node:diagnostics_channel";
import dgram from "node:dgram";
import dns from "node:dns";
import { appendFileSync } from "node:fs";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import tls from "node:tls";

const { SERVICE, API, REFUSED } = process.env;
const base = API ? new URL(API) : undefined;

const ofService = (host) => base !== undefined && host === SERVICE;
const local = (host) => host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);

function refusal(host) {
  if (REFUSED) appendFileSync(REFUSED, host + "\n");
  return Object.assign(new Error("not of this machine: " + host), { code: "ENOTFOUND" });
}

const { lookup } = dns;
dns.lookup = (host, options, done = options) => {
  if (ofService(host)) return lookup("127.0.0.1", options, done);
  if (local(host)) return lookup(host, options, done);
  process.nextTick(done, refusal(host));
};
dns.promises.lookup = (host, options) =>
  new Promise((yes, no) => {
    const found = (err, address, family) => (err ? no(err) : yes(options?.all ? address : { address, family }));
    dns.lookup(host, options ?? {}, found);
  });
for (const from of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype])
  for (const name of Object.keys(Object.getOwnPropertyDescriptors(from)).filter((name) => name.startsWith("resolve")))
    from[name] = (host) => {
      throw refusal(host);
    };

dgram.createSocket = () => {
  throw refusal("UDP");
};

const { connect } = net.Socket.prototype;
net.Socket.prototype.connect = function (...args) {
  const first = Array.isArray(args[0]) ? args[0][0] : args[0];
  const host = typeof first === "object" ? (first.host ?? "localhost") : typeof args[1] === "string" ? args[1] : "localhost";
  if (first?.path || local(host)) return connect.apply(this, args);
  process.nextTick(() => this.destroy(refusal(host)));
  return this;
};

const secure = tls.connect;
tls.connect = (...args) => {
  const options = args[0];
  if (!ofService(options?.servername) && !ofService(options?.host)) return secure(...args);
  const socket = net.connect({ host: base.hostname, port: base.port });
  return socket.once("connect", () => socket.emit("secureConnect"));
};

// The Host header is part of a base address: node:https and undici have it each its way.
const { request } = https;
https.request = (options, ...rest) => {
  if (!ofService(options?.hostname) && !ofService(options?.host)) return request(options, ...rest);
  return request({ ...options, headers: { ...options.headers, Host: base.host } }, ...rest);
};
subscribe("undici:request:create", ({ request }) => {
  if (ofService(request.host) || ofService(new URL(request.origin).hostname)) request.host = base.host;
});
syncBuiltinESMExports();
