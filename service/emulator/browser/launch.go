package browser

import (
	"bytes"
	"context"
	"encoding/base64"
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

// launch says how one Chromium is started.
type launch struct {
	program   string
	dir       string // where its folder is made
	proxy     string // host:port of the egress
	trust     [][]byte
	noSandbox bool
	userAgent string
}

// chromium is one running Chromium with its folder.
type chromium struct {
	cmd  *exec.Cmd
	dir  string
	mux  *mux
	out  *tail
	gone chan struct{} // closed when process and folder are gone
	once sync.Once
}

// start runs Chromium and waits until it answers.
func (l launch) start(ctx context.Context) (*chromium, error) {
	dir, err := os.MkdirTemp(l.dir, "chromium-")
	if err != nil {
		return nil, fmt.Errorf("making the folder of a browser: %w", err)
	}
	c := &chromium{dir: dir, out: &tail{max: keptOutput}, gone: make(chan struct{})}
	// The process outlives ctx on purpose: its life is the pool's, see end.
	c.cmd = exec.Command(l.program, l.args(dir)...) //nolint:noctx // the life of the process is the pool's, not the first caller's
	c.cmd.Dir = dir
	c.cmd.Env = environment(dir)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	// A child that survives the main process must not hold up Wait.
	c.cmd.WaitDelay = time.Second
	rw, err := startPiped(c.cmd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", l.program, err), os.RemoveAll(dir))
	}
	c.mux = newMux(rw)
	go c.reap()
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	if err := c.mux.open(ctx); err != nil {
		c.end()
		said := strings.TrimSpace(c.out.String())
		if said == "" {
			return nil, fmt.Errorf("starting %s: %w", l.program, err)
		}
		return nil, fmt.Errorf("starting %s: %w; it said: %s", l.program, err, said)
	}
	return c, nil
}

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
func (c *chromium) alive() bool {
	select {
	case <-c.mux.done:
		return false
	default:
		return true
	}
}

// environment is what Chromium sees of ours: where programs and fonts are and the
// language, no secret, and its own folder, in which it runs, for everything it may write.
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

func (l launch) args(dir string) []string {
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
		"--proxy-server=http://" + l.proxy, "--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--disable-quic", "--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
	}
	if len(l.trust) > 0 {
		var pins []string
		for _, sum := range l.trust {
			pins = append(pins, base64.StdEncoding.EncodeToString(sum))
		}
		args = append(args, "--ignore-certificate-errors-spki-list="+strings.Join(pins, ","))
	}
	if l.noSandbox || os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // Chromium refuses to start as root with it
	}
	if l.userAgent != "" {
		args = append(args, "--user-agent="+l.userAgent)
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

// pipes are our ends of the two pipes that Chromium is driven by.
type pipes struct {
	io.Reader
	io.Writer
	close func() error
}

func (p pipes) Close() error { return p.close() }

// ends makes the four ends: what the child reads and writes, and ours.
func ends() (childRead, childWrite *os.File, ours pipes, err error) {
	childRead, write, err := os.Pipe()
	if err != nil {
		return nil, nil, pipes{}, err
	}
	read, childWrite, err := os.Pipe()
	if err != nil {
		childRead.Close()
		write.Close()
		return nil, nil, pipes{}, err
	}
	return childRead, childWrite, pipes{read, write, func() error { return errors.Join(read.Close(), write.Close()) }}, nil
}
