// Package browser is the emulator's remote browser product on a real Chromium:
// pages fetched after their scripts ran, screenshots, and an entry for clients that
// speak the Chrome DevTools Protocol (service.md 1; what the contract does not
// show follows the public documentation of a service of this kind).
//
// The emulator's fetch package calls [Browsers.Render] and [Browsers.Screenshot];
// its root serves [Browsers.Entry] on the browser's own port and lists
// [Browsers.Sessions]. All methods are safe for concurrent use.
//
// Three things hold for every Chromium started here:
//
//   - It is driven over a pair of pipes, never over a debugging port, so that no
//     other process can drive it, and it ends when its pipe does.
//   - It reaches nothing but the proxy of native access, on a port of its own on
//     127.0.0.1 and with a login made for one session. Which targets the session may
//     reach is up to the [Dial] it was opened with.
//   - Its profile, its home and its temporary files are one folder, removed at its end.
//
// Without Chromium every call returns [ErrNoChromium]: results are never made up.
package browser
