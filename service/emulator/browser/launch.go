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
	// startWait bounds the time from starting Chromium to its first answer, which may take
	// some seconds on a busy machine.
	startWait = 30 * time.Second
	// keptOutput is how many bytes of Chromium's output the error of a failed start contains.
	keptOutput = 2 << 10
	// removeWait bounds the attempts to remove the folder of an ended Chromium, whose
	// children may still write to it.
	removeWait = 5 * time.Second
)

type chromium struct {
	cmd    *exec.Cmd
	dir    string
	mux    *mux
	output *tail
	exited chan struct{} // closed once the process has ended and the folder is removed
}

// launch starts a Chromium and waits until it answers.
func (b *Browsers) launch(ctx context.Context) (*chromium, error) {
	program, err := Find(b.cfg.Path)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "chromium-")
	if err != nil {
		return nil, fmt.Errorf("making the folder of a browser: %w", err)
	}
	c := &chromium{dir: dir, output: &tail{max: keptOutput}, exited: make(chan struct{})}
	// The process outlives ctx. The pool ends it, see end.
	c.cmd = exec.Command(program, b.arguments(ctx, dir)...) //nolint:noctx // the pool ends the process, not its first caller
	c.cmd.Dir, c.cmd.Env = dir, environment(dir)
	c.cmd.Stdout, c.cmd.Stderr = c.output, c.output
	// A child that survives the main process must not delay Wait.
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
		if output := strings.TrimSpace(c.output.String()); output != "" {
			err = fmt.Errorf("%w; its output: %s", err, output)
		}
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	return c, nil
}

// startPiped starts cmd with two debugging pipes, and returns the emulator's ends of them.
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

// pipes are the emulator's ends of the two debugging pipes.
type pipes struct {
	io.ReadCloser
	write io.WriteCloser
}

func (p pipes) Write(b []byte) (int, error) { return p.write.Write(b) }

func (p pipes) Close() error { return errors.Join(p.ReadCloser.Close(), p.write.Close()) }

// reap waits for the process, then ends its children and removes the folder.
func (c *chromium) reap() {
	defer close(c.exited)
	// The end of the pipe reports the end of the process, so its error is not needed.
	_ = c.cmd.Wait()
	c.mux.close(errChromiumGone)
	killGroup(c.cmd)
	deadline := time.Now().Add(removeWait)
	for pause := 5 * time.Millisecond; os.RemoveAll(c.dir) != nil && time.Now().Before(deadline); pause *= 2 {
		<-time.After(pause)
		killGroup(c.cmd)
	}
}

// end stops Chromium and waits until process and children have ended, and the folder is removed.
func (c *chromium) end() {
	c.mux.close(errChromiumGone)
	select {
	case <-c.exited: // its number may belong to another process now
	default:
		killGroup(c.cmd)
	}
	<-c.exited
}

// alive reports whether the pipe to Chromium is open.
func (c *chromium) alive() bool { return c.mux.ctx.Err() == nil }

// environment returns the environment of Chromium: the variables of the emulator that locate
// programs and fonts or set the language, which contain no secrets, and folders below its
// working folder. The temporary folder has a relative path, because Chromium makes a socket in
// it, and a socket's path is limited to 103 bytes.
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
		// No background work: no first run, no updates, no reports, no discovery.
		"--no-first-run", "--no-default-browser-check", "--no-pings", "--no-service-autorun",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
		"--disable-extensions", "--disable-domain-reliability", "--disable-client-side-phishing-detection",
		"--disable-breakpad", "--disable-crash-reporter", "--metrics-recording-only", "--password-store=basic", "--use-mock-keychain",
		"--disable-popup-blocking", "--disable-prompt-on-repost", "--disable-hang-monitor",
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
		// MediaRouter looks for devices by multicast; HttpsUpgrades changes http addresses
		// to https ones.
		"--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,LocalNetworkAccessChecks,InterestFeedContentSuggestions",
		// All traffic passes through the egress, even to loopback targets. Chromium resolves
		// no names and uses no UDP, which an HTTP proxy does not carry.
		"--proxy-server=http://" + b.egress.addr(), "--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--disable-quic", "--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
	}
	if len(b.trust) > 0 {
		args = append(args, "--ignore-certificate-errors-spki-list="+strings.Join(b.trust, ","))
	}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // as root, Chromium does not start with a sandbox
	}
	// Without a known version, Chromium keeps its user agent.
	if product, err := b.product(ctx); err == nil {
		args = append(args, "--user-agent="+userAgent(product))
	}
	return append(args, "about:blank")
}

// errChromiumGone means that Chromium has ended, or was ended.
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
