package lab

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"zonedeck/internal/noerr"
)

// chromium opens a real browser on a page of a real server.
func chromium(t *testing.T) (context.Context, string) {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("needs Chromium (package chromium)")
	}
	s := httptest.NewServer(New(Options{}))
	t.Cleanup(s.Close)
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()))
	if os.Geteuid() == 0 {
		o = append(o, chromedp.NoSandbox)
	}
	ctx, end := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), o...) // closed by Cancel below
	t.Cleanup(end)
	browser, closeBrowser := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		noerr.Want(t, chromedp.Cancel(browser))
		closeBrowser()
	})
	if err := chromedp.Do(browser); err != nil { // starts it, without the bound on what follows
		t.Fatal(err)
	}
	tab, cancel := context.WithTimeout(browser, 30*time.Second)
	t.Cleanup(cancel)
	return tab, s.URL
}

// look waits for an element and returns its text.
func look(ctx context.Context, t *testing.T, selector string) string {
	t.Helper()
	s, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS(selector)))
	if err != nil {
		t.Fatalf("waiting for %s: %v", selector, err)
	}
	return s
}

func TestABrowserGetsPastTheBlocks(t *testing.T) {
	ctx, base := chromium(t)
	open := func(path string) {
		t.Helper()
		noerr.Must(t, chromedp.Do(ctx, chromedp.Navigate(base+path)))
	}
	tick := func() {
		t.Helper()
		noerr.Must(t, chromedp.Do(ctx, chromedp.Click(chromedp.CSS("#captcha-checkbox"))))
	}
	open("/forbidden") // its challenge needs no click
	if got := look(ctx, t, ".behind"); !strings.Contains(got, "has solved its challenge") {
		t.Error(got)
	}
	open("/captcha") // a CAPTCHA waits for a person
	if got := look(ctx, t, "h1"); got != "Please verify you are a human" {
		t.Error(got)
	}
	tick()
	if got := look(ctx, t, ".behind"); !strings.Contains(got, "has solved its challenge") {
		t.Error(got)
	}
	open("/captcha?hard=1")
	tick()
	if got := look(ctx, t, "#challenge-note.failed"); got != "The challenge could not be solved." {
		t.Error(got)
	}
	open("/js")
	if got := look(ctx, t, "#products"); !strings.Contains(got, "Brass desk lamp 14.25") {
		t.Error(got)
	}
	open("/docs/sticky-sessions-for-proxies")
	if got := look(ctx, t, "#reading-time"); got != "1 min read" {
		t.Error(got)
	}
}
