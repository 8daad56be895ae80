// Package browser is the emulator's remote browser, on a real Chromium: pages after their scripts
// ran, screenshots, and an entry for clients of the Chrome DevTools Protocol (service.md 1; what
// the contract does not show follows the public documentation of a service of this kind).
//
// The emulator's fetch package calls [Browsers.Render] and [Browsers.Screenshot];
// the server serves [Browsers.Entry] on the browser's port and lists
// [Browsers.Sessions]. All methods are safe for concurrent use.
//
// Three things hold for every Chromium started here:
//
//   - The emulator drives it over a pair of pipes, not over a debugging port, so that no
//     other process can drive it. It ends with its pipe.
//   - It reaches nothing but the proxy of native access, on a separate port of 127.0.0.1, with
//     a login for one session. The session's [Dial] decides which targets it may reach.
//   - Its profile, its home and its temporary files are in one folder, which is removed when
//     it ends.
//
// Without Chromium every call returns [ErrNoChromium]: results are never invented.
package browser
