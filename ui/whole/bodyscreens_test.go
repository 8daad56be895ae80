package whole

import (
	"bytes"
	"image"
	"image/color"
	"image/png"

	"zonedeck/ui/uitest"
)

// screenshot is the picture of a page: a bar above a table.
func screenshot() string {
	img := image.NewPaletted(image.Rect(0, 0, 320, 200), color.Palette{color.White, color.RGBA{0x15, 0x57, 0xb0, 0xff}, color.RGBA{0xa5, 0xb1, 0xbf, 0xff}})
	for y := range 200 {
		for x := range 320 {
			switch {
			case y < 40:
				img.SetColorIndex(x, y, 1)
			case y > 60 && x > 40 && x < 280 && (y/20)%2 == 0:
				img.SetColorIndex(x, y, 2)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // into memory it cannot fail
	}
	return b.String()
}

// bodyScreens show the ways of looking at a body.
func bodyScreens(s scripted) []screen {
	lab := func(path string, then ...func(p *uitest.Whole)) screen {
		return screen{before: before("request", "http://lab.test"+path, "--zone", "datacenter_demo", "--retries", "0"), steps: func(p *uitest.Whole) {
			fromHistory(p, "✓ ok")
			for _, step := range then {
				step(p)
			}
		}}
	}
	acme := func(name string, then ...func(p *uitest.Whole)) screen {
		return screen{before: func(h *home) {
			s.acme(h, "brightdata")
			h.run("request", "https://shop.example/"+name, "--zone", "unlocker1", "--retries", "0")
		}, steps: func(p *uitest.Whole) {
			opened()(p)
			for _, step := range then {
				step(p)
			}
		}}
	}
	press := func(text string, keys ...string) func(p *uitest.Whole) {
		return func(p *uitest.Whole) {
			p.Press(keys...)
			p.WaitFor(text)
		}
	}
	filter := func(expr, text string) func(p *uitest.Whole) {
		return script(see("|", " ›"), typed(expr), shows(text))
	}
	named := func(name string, sc screen) screen {
		sc.name = "sandbox/" + name
		return sc
	}
	return []screen{
		named("text", lab("/shop", press("Brass desk lamp](", "]"))),
		named("selector", lab("/shop", filter("a[href*=product]", "results"))),
		named("tree", lab("/json", press("▾ {} 2 keys", "]"), press(".products[0].name", "down", "down", "down", "down"))),
		named("jq", lab("/json", filter(".products[] | select(.price > 90)", "results"), press("╶ jq .products[]", "enter"))),
		named("wrong-jq", lab("/json", filter(".products[", "✗"))),
		named("not-json", acme("not-json", press("not JSON at line", "]"))),
		named("bytes", lab("/site/files/report.pdf", press("25 50 44 46"))),
		named("picture", acme("screenshot", press("drawn as half blocks"))),
		named("no-picture", acme("avif", press("not this format"))),
	}
}
