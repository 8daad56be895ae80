package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

const versionWait = 20 * time.Second

// product returns Chromium's version, like "156.0.8078.79". It asks Chromium once.
func (b *Browsers) product(ctx context.Context) (string, error) {
	b.mu.Lock()
	known := b.productKnown
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
	b.productKnown = known
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
