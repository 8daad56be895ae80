package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	// startWait bounds the time from starting Chromium to its first answer. Two
	// busy processors need some seconds for it.
	startWait = 30 * time.Second
	// keptOutput is how much of what Chromium says at a failed start goes into the
	// error, in bytes.
	keptOutput = 2 << 10
	// removeWait bounds the attempts to remove the folder of an ended Chromium,
	// whose children may still be writing to it.
	removeWait = 5 * time.Second
)

// chromium is one running Chromium with its folder.
type chromium struct {
	cmd  *exec.Cmd
	dir  string
	mux  *mux
	out  *tail
	gone chan struct{} // closed when process and folder are gone
	once sync.Once
}

// launch runs a Chromium and waits until it answers.
func (b *Browsers) launch(ctx context.Context) (*chromium, error) {
	program, err := Find(b.cfg.Path)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "chromium-")
	if err != nil {
		return nil, fmt.Errorf("making the folder of a browser: %w", err)
	}
	c := &chromium{dir: dir, out: &tail{max: keptOutput}, gone: make(chan struct{})}
	// The process outlives ctx on purpose: its life is the pool's, see end.
	c.cmd = exec.Command(program, b.arguments(ctx, dir)...) //nolint:noctx // the life of the process is the pool's, not the first caller's
	c.cmd.Dir, c.cmd.Env = dir, environment(dir)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	// A child that survives the main process must not hold up Wait.
	c.cmd.WaitDelay = time.Second
	pipe, err := startPiped(c.cmd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", program, err), os.RemoveAll(dir))
	}
	c.mux = newMux(pipe)
	go c.reap()
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	if err := c.mux.open(ctx); err != nil {
		c.end()
		if output := strings.TrimSpace(c.out.String()); output != "" {
			err = fmt.Errorf("%w; its output: %s", err, output)
		}
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return c, nil
}

// startPiped starts cmd with two pipes to be driven by, and gives our ends of them.
func startPiped(cmd *exec.Cmd) (io.ReadWriteCloser, error) {
	childRead, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childRead.Close()
	read, childWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	defer childWrite.Close()
	pipe := pipes{read, write}
	err = inherit(cmd, childRead, childWrite)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	return pipe, nil
}

// pipes are our ends of the two pipes that Chromium is driven by.
type pipes struct {
	io.ReadCloser
	write io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.write.Write(b) }

func (p pipes) Close() error { return errors.Join(p.ReadCloser.Close(), p.write.Close()) }

// reap waits for the process, then ends what it left: children and the folder.
func (c *chromium) reap() {
	defer close(c.gone)
	// Wait's error says how it ended, which the pipe's end says as well.
	_ = c.cmd.Wait()
	c.mux.close(errChromiumGone)
	killGroup(c.cmd)
	deadline := time.Now().Add(removeWait)
	for pause := 5 * time.Millisecond; os.RemoveAll(c.dir) != nil && time.Now().Before(deadline); pause *= 2 {
		<-time.After(pause)
		killGroup(c.cmd)
	}
}

// end stops Chromium and waits until process, children and folder are gone.
func (c *chromium) end() {
	c.once.Do(func() {
		c.mux.close(errChromiumGone)
		select {
		case <-c.gone: // and its number may be another process's by now
		default:
			killGroup(c.cmd)
		}
	})
	<-c.gone
}

// alive tells whether Chromium still answers on its pipe.
func (c *chromium) alive() bool { return c.mux.ctx.Err() == nil }

// environment is the part of our environment that Chromium gets: where programs and fonts
// are, and the language. No secret is among it. It may write to its folder, in which it runs.
// The temporary folder is named by a relative path: Chromium makes a socket in it, and the
// path of a socket has room for 103 bytes.
func environment(dir string) []string {
	temp := dir
	if runtime.GOOS != "windows" {
		temp = "."
	}
	env := []string{"HOME=" + dir, "TMPDIR=" + temp, "TMP=" + temp, "TEMP=" + temp, "XDG_CONFIG_HOME=" + dir, "XDG_CACHE_HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_RUNTIME_DIR=" + dir}
	for _, name := range [...]string{"PATH", "LANG", "LC_ALL", "TZ", "FONTCONFIG_PATH", "FONTCONFIG_FILE", "LD_LIBRARY_PATH", "SYSTEMROOT", "SystemDrive", "PROGRAMFILES", "LOCALAPPDATA"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func (b *Browsers) arguments(ctx context.Context, dir string) []string {
	args := []string{
		"--headless", "--disable-gpu", "--hide-scrollbars", "--mute-audio", "--force-color-profile=srgb",
		"--user-data-dir=" + dir, "--disable-dev-shm-usage", "--remote-debugging-pipe",
		// Nothing of its own: no first run, no updates, no reports, no discovery.
		"--no-first-run", "--no-default-browser-check", "--no-pings", "--no-service-autorun",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
		"--disable-extensions", "--disable-domain-reliability", "--disable-client-side-phishing-detection",
		"--disable-breakpad", "--disable-crash-reporter", "--metrics-recording-only", "--password-store=basic", "--use-mock-keychain",
		"--disable-popup-blocking", "--disable-prompt-on-repost", "--disable-hang-monitor",
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		// MediaRouter looks for devices by multicast; HttpsUpgrades turns http addresses
		// into https ones, which are other addresses.
		"--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,LocalNetworkAccessChecks,InterestFeedContentSuggestions",
		// All traffic by the egress, loopback targets too; no name resolved here; no
		// UDP, which no proxy of this kind carries.
		"--proxy-server=http://" + b.egress.addr(), "--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--disable-quic", "--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
	}
	if len(b.trust) > 0 {
		args = append(args, "--ignore-certificate-errors-spki-list="+strings.Join(b.trust, ","))
	}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // Chromium refuses to start as root with it
	}
	// One that does not say its version calls itself what it likes.
	if product, err := b.product(ctx); err == nil {
		args = append(args, "--user-agent="+userAgent(product))
	}
	return append(args, "about:blank")
}

// errChromiumGone says that Chromium ended, by itself or ended by us.
var errChromiumGone = errors.New("the browser process ended")

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
	max int
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = bytes.Clone(t.buf[over:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
