(function () {
  "use strict";
  var tag = document.currentScript, endpoint = tag.getAttribute("data-challenge");

  function sha256(text) {
    var K = [], H = [], n = 0, p, i, j, c = {};
    for (p = 2; n < 64; p++) {
      if (c[p]) continue;
      for (i = p * p; i < 400; i += p) c[i] = true;
      if (n < 8) H[n] = (Math.pow(p, 1 / 2) * 4294967296) | 0;
      K[n++] = (Math.pow(p, 1 / 3) * 4294967296) | 0;
    }
    var bytes = unescape(encodeURIComponent(text)), words = [], length = bytes.length;
    for (i = 0; i < length; i++) words[i >> 2] |= bytes.charCodeAt(i) << (24 - (i % 4) * 8);
    words[length >> 2] |= 128 << (24 - (length % 4) * 8);
    var total = (((length + 8) >> 6) + 1) * 16;
    words[total - 1] = length * 8;
    for (i = 0; i < total; i++) words[i] = words[i] | 0;
    function rot(x, k) { return (x >>> k) | (x << (32 - k)); }
    for (var at = 0; at < total; at += 16) {
      var w = words.slice(at, at + 16), h = H.slice(0);
      for (j = 0; j < 64; j++) {
        if (j >= 16) {
          var a = w[j - 15], b = w[j - 2];
          w[j] = (w[j - 16] + (rot(a, 7) ^ rot(a, 18) ^ (a >>> 3)) + w[j - 7] + (rot(b, 17) ^ rot(b, 19) ^ (b >>> 10))) | 0;
        }
        var t1 = (h[7] + (rot(h[4], 6) ^ rot(h[4], 11) ^ rot(h[4], 25)) + ((h[4] & h[5]) ^ (~h[4] & h[6])) + K[j] + w[j]) | 0;
        var t2 = ((rot(h[0], 2) ^ rot(h[0], 13) ^ rot(h[0], 22)) + ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]))) | 0;
        h = [(t1 + t2) | 0, h[0], h[1], h[2], (h[3] + t1) | 0, h[4], h[5], h[6]];
      }
      for (j = 0; j < 8; j++) H[j] = (H[j] + h[j]) | 0;
    }
    return H;
  }

  function say(text, failed) {
    var p = document.getElementById("challenge-note") || document.body.appendChild(document.createElement("p"));
    p.id = "challenge-note";
    p.className = failed ? "failed" : "";
    p.textContent = text;
  }

  function solve() {
    say("Checking your browser.");
    fetch(endpoint, {cache: "no-store"}).then(function (r) {
      if (!r.ok) throw new Error("no puzzle");
      return r.json();
    }).then(function (puzzle) {
      var n = 0;
      while ((sha256(puzzle.token + ":" + n)[0] >>> (32 - puzzle.difficulty)) !== 0) n++;
      var form = new URLSearchParams();
      form.set("token", puzzle.token);
      form.set("answer", String(n));
      form.set("for", new URL(endpoint, location.href).searchParams.get("for"));
      return fetch("/challenge", {method: "POST", body: form});
    }).then(function (r) {
      if (!r.ok) throw new Error("not taken");
      location.reload();
    }).catch(function () { say("The challenge could not be solved.", true); });
  }

  function start() {
    var widget = document.querySelector(".g-recaptcha");
    if (!widget) return solve();
    var label = document.createElement("label"), box = document.createElement("input");
    box.type = "checkbox";
    box.id = "captcha-checkbox";
    label.appendChild(box);
    label.appendChild(document.createTextNode(" I am not a robot"));
    widget.appendChild(label);
    box.addEventListener("change", function () {
      if (box.checked) { box.disabled = true; solve(); }
    });
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start); else start();
})();
