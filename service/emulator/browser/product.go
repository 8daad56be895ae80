package browser

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// versionWait bounds asking Chromium for its version.
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
