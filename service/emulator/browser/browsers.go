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

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"zonedeck/service/emulator/state"
)

// errClosed is the error of every call after Close.
var errClosed = errors.New("the browsers are closed")

// maxPagesPerProcess is after how many pages a Chromium is replaced, to bound its memory.
const maxPagesPerProcess = 200

// Config configures the product. The zero value works.
type Config struct {
	// Path is the Chromium to run, CHROME_PATH by convention; empty searches PATH.
	Path string
	// Trust lists additional authorities that Chromium accepts. A server has to send the
	// authority's certificate in its chain, where Chromium looks for its key.
	Trust []*x509.Certificate
	// Now is the clock of the sessions' dates and limits; nil is time.Now.
	Now func() time.Time
	// Sessions bounds the concurrent CDP sessions, each with a separate Chromium; 0 is 4.
	Sessions int
	// Pages bounds the pages rendered concurrently, all in one Chromium; 0 is 4.
	Pages int
	// Idle is how long the Chromium of the rendered pages waits for the next page; 0 is a minute.
	Idle time.Duration
	// Captcha is how long a challenge may take after its box is ticked; 0 is 10 s.
	Captcha time.Duration
	// Login checks the login of a CDP connection, see [Login]. [Browsers.Entry] needs it.
	Login Login
	// Limits bound a CDP session.
	Limits Limits
	// Log receives failures to start a browser; nil logs nothing.
	Log *slog.Logger
}

// Browsers is the pool of Chromium processes.
type Browsers struct {
	cfg    Config
	trust  []string // pins of Config.Trust, in Chromium's format
	egress *egress
	temp   *state.Temp // the folder of the profiles
	dir    string      // its path

	pages    chan struct{} // a token per page that may be open
	sessions chan struct{} // a token per CDP session that may be open
	starting chan struct{} // one token: a call that starts the Chromium of the pages

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	shared   *worker
	register register

	productName string
	tickets     tickets
}

// worker is the Chromium that pages are rendered in.
type worker struct {
	chrom *chromium
	ctx   context.Context // chromedp's
	stop  func()

	// guarded by Browsers.mu
	using int
	used  int
	timer *time.Timer
}

// Open prepares the product. It starts no process, opens no port and makes no folder before the
// first call that needs one, so that it works without Chromium. Cancelling ctx ends the
// sessions and the pages; the caller still has to call Close.
func Open(ctx context.Context, cfg Config) *Browsers {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Sessions = cmp.Or(cfg.Sessions, 4)
	cfg.Pages = cmp.Or(cfg.Pages, 4)
	cfg.Idle = cmp.Or(cfg.Idle, time.Minute)
	cfg.Captcha = cmp.Or(cfg.Captcha, 10*time.Second)
	cfg.Limits = cfg.Limits.filled()
	b := &Browsers{
		cfg:   cfg,
		pages: make(chan struct{}, cfg.Pages), sessions: make(chan struct{}, cfg.Sessions), starting: make(chan struct{}, 1),
	}
	b.ctx, b.cancel = context.WithCancel(ctx)
	for _, cert := range cfg.Trust {
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
		b.trust = append(b.trust, base64.StdEncoding.EncodeToString(sum[:]))
	}
	return b
}

// setUp makes the folder and the egress at the first call, and removes the folders of killed
// emulators. The caller holds b.mu.
func (b *Browsers) setUp() error {
	if b.egress != nil {
		return nil
	}
	if b.temp == nil {
		made, err := state.NewTemp("zonedeck-browser-")
		if err != nil {
			return fmt.Errorf("making the browsers' folder: %w", err)
		}
		b.temp, b.dir = made, made.Path
	}
	var err error
	b.egress, err = b.openEgress()
	return err
}

// tearDown undoes setUp.
func (b *Browsers) tearDown() error {
	if b.egress != nil {
		b.egress.close()
	}
	var err error
	if b.temp != nil {
		err = b.temp.Remove()
	}
	if err != nil {
		return fmt.Errorf("removing the browsers' folder: %w", err)
	}
	return nil
}

// Close ends every session and every process, waits for them and removes their folders.
func (b *Browsers) Close() error {
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.mu.Unlock()
	if closed {
		return nil
	}
	b.cancel()
	b.work.Wait()
	if w := b.shared; w != nil { // idle, as no work is left
		w.timer.Stop()
		w.end()
	}
	return b.tearDown()
}

// stopping reports whether new work is refused. The caller holds b.mu.
func (b *Browsers) stopping() bool { return b.closed || b.ctx.Err() != nil }

// begin adds a call to b.work, which Close waits for.
func (b *Browsers) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopping() {
		return errClosed
	}
	if err := b.setUp(); err != nil {
		return err
	}
	b.work.Add(1)
	return nil
}

// borrow returns the Chromium for one page, and starts it if none runs. The caller returns it
// with give.
func (b *Browsers) borrow(ctx context.Context) (*worker, error) {
	select {
	case b.starting <- struct{}{}:
		defer func() { <-b.starting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if w := b.running(); w != nil {
		if w.chrom.alive() {
			return w, nil
		}
		b.giveBack(w) // it has crashed
	}
	w := &worker{using: 1, used: 1}
	var err error
	if w.chrom, err = b.launch(ctx); err != nil {
		return nil, err
	}
	if w.ctx, w.stop, err = drive(ctx, w.chrom.mux.driver); err != nil {
		w.chrom.end()
		return nil, err
	}
	w.chrom.mux.client.drop()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shared = w
	return w, nil
}

// running adds a user to the running Chromium, and returns nil if none runs.
func (b *Browsers) running() *worker {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.shared
	if w == nil {
		return nil
	}
	if w.using == 0 {
		w.timer.Stop()
	}
	w.using++
	w.used++
	return w
}

// giveBack returns a Chromium. It waits for the next page, or ends if it has crashed, has opened its
// last page, or was replaced.
func (b *Browsers) giveBack(w *worker) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.using--
	if b.shared == w && (!w.chrom.alive() || w.used >= maxPagesPerProcess || b.stopping()) {
		b.shared = nil
	}
	switch {
	case w.using > 0:
	case b.shared != w:
		b.work.Go(w.end)
	default:
		w.timer = time.AfterFunc(b.cfg.Idle, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			if !b.closed && b.shared == w && w.using == 0 {
				b.shared = nil
				b.work.Go(w.end)
			}
		})
	}
}

func (w *worker) end() {
	w.chrom.end()
	w.stop()
}

const versionWait = 20 * time.Second

// product returns Chromium's version, like "156.0.8078.79". It asks Chromium once.
func (b *Browsers) product(ctx context.Context) (string, error) {
	b.mu.Lock()
	known := b.productName
	b.mu.Unlock()
	if known != "" {
		return known, nil
	}
	if runtime.GOOS == "windows" {
		return "", errors.New("on Windows the browser opens a window when asked for its version")
	}
	program, err := Find(b.cfg.Path)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, versionWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.Env, cmd.Dir = environment(b.dir), b.dir
	cmd.WaitDelay = time.Second // for children that keep the output open
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	known = regexp.MustCompile(`\d+(\.\d+){1,3}`).FindString(string(out))
	if known == "" {
		return "", errors.New("the browser does not say its version")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.productName = known
	return known, nil
}

// userAgent is the user agent of a Chromium with a window. That of a headless one gives it away
// as a robot.
func userAgent(product string) string {
	major, _, _ := strings.Cut(product, ".")
	system := map[string]string{
		"linux": "X11; Linux x86_64", "darwin": "Macintosh; Intel Mac OS X 10_15_7", "windows": "Windows NT 10.0; Win64; x64",
	}[runtime.GOOS]
	if system == "" {
		system = "X11; Linux x86_64"
	}
	return "Mozilla/5.0 (" + system + ") AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" + major + ".0.0.0 Safari/537.36"
}

// ErrNoChromium is the error of every call on a machine without Chromium.
var ErrNoChromium = errors.New("no Chromium on this machine: install the package chromium (or chromium-browser, google-chrome) or name the program in CHROME_PATH")

// Find returns the path of the Chromium to run: path if it is not empty, else the first of
// chromium, chromium-browser, google-chrome and google-chrome-stable in PATH. Its error
// wraps [ErrNoChromium].
func Find(path string) (string, error) {
	if path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("%w (%w)", ErrNoChromium, err)
		}
		return found, nil
	}
	for _, name := range [...]string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", ErrNoChromium
}
