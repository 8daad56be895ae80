package sandbox_test

import (
	"strings"
	"testing"
)

func TestURLsOfTheHistoryAreRecalledAndCompleted(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		onScreen(t, size[0], size[1], func(t *testing.T, b *bench) {
			b.svc.urls = []string{"http://lab.test/shop?v=2", "http://lab.test/captcha", "http://lab.test/shop?v=1"}
			b.reload()
			b.Press("ctrl+l")
			b.Type("SHOP")
			b.ExpectNot("↑ earlier")
			b.Press("up") // to the field above: what was typed stays
			b.Expect("SHOP", "enter pick")
			b.Press("ctrl+l")
			b.Expect("↑ earlier")
			b.Press("up")
			b.Expect("http://lab.test/shop?v=2")
			b.Press("up", "up", "up") // past the oldest
			b.Expect("http://lab.test/shop?v=1")
			b.Press("down", "down", "down")
			b.Expect("SHOP")
			b.Press("ctrl+u", "up")
			b.Expect("http://lab.test/shop?v=2")
			b.Press("ctrl+l")
			b.Paste("http://lab.test/ca")
			b.Expect("http://lab.test/captcha  ") // the rest is shown behind the cursor
			b.Press("ctrl+l")
			b.Paste("http://lab.test/slow?x=t")
			b.Expect("http://lab.test/slow?x=t█")
			b.Press("ctrl+u")
			b.Type("http://lab.test/c")
			b.ExpectNot("captcha\"") // shown after the cursor, not sent
			b.Press("right")
			b.Type("?x=1")
			b.Press("ctrl+j")
			if sent := b.svc.requests(); len(sent) != 1 || sent[0].URL != "http://lab.test/captcha?x=1" {
				t.Errorf("sent %+v", sent)
			}
		})
	}
}

func TestJumpKeysReachZoneURLAndResponseFromAnywhere(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Press("ctrl+j")
		b.Expect("✓ ok")
		b.Press("alt+u")
		b.Type("http://lab.test/shop")
		b.Press("alt+z") // what was typed stays
		b.Expect("type to filter", "http://lab.test/shop")
		b.Press("alt+r")
		b.Expect("▌Response", "http://lab.test/shop")
		b.Press("alt+z")
		b.Type("brow")
		b.Press("enter", "ctrl+g")
		b.Expect("▌Response", "browser_demo  browser")
	})
}

func TestALongURLHasTheFullWidth(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.Press("alt+u")
		b.Expect("typing replaces URL")
		long := "http://lab.test/?q=" + strings.Repeat("x", 80)
		b.Paste(long)
		b.Expect("http://lab.test/?q=xxx", "typing goes into URL")
		b.ExpectNot("/okhttp")
		b.Press("enter")
		b.Expect(long)
		b.Press("ctrl+l", "left") // an arrow keeps it
		b.Type("y")
		b.Expect("xxyx")
	})
}
