package sandbox_test

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/ansi/kitty"

	"zonedeck/internal/noerr"
	"zonedeck/model"
	"zonedeck/ui/kit/body/picture"
	"zonedeck/ui/sandbox"
)

// answer makes every request end in a body of a type.
func (b *bench) answer(contentType, body string, chain model.Chain) {
	b.answers(func(r model.FetchRequest) model.FetchResult {
		res := okResult(r)
		res.ContentType, res.Chain = contentType, chain
		res.Body = model.BodyRef{Bytes: []byte(body), Size: int64(len(body))}
		return res
	})
}

func pngOf(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	noerr.Must(t, png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 64, 48))))
	return b.String()
}

func TestTheFirstPageIsTheOneThatFitsTheBody(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.answer("application/json", `{"items":[{"name":"Shoe"}]}`, model.Chain{})
		b.Press("ctrl+j")
		b.Expect("╶ Body ╴  Tree    Headers    Timing    Attempts", `1 {"items"`)
		b.ExpectNot("TLS  ")
		b.Press("]")
		b.Expect("╶ Tree ╴", "items: [] 1 value", `name: "Shoe"`)
		b.Press("tab", "ctrl+j") // a new result begins with its body
		b.Expect("╶ Body ╴")
		b.answer("application/pdf", "%PDF\x00", model.Chain{})
		b.Press("ctrl+j")
		b.Expect("╶ Hex ╴  Body", "25 50 44 46 00")
		b.answer("image/png", pngOf(t), model.Chain{
			Peer: "service", ServerName: "api.example", Trust: model.TrustSystem, Certificates: []model.Certificate{{Subject: "CN=api.example"}},
		})
		b.Press("ctrl+j")
		b.Expect("╶ Picture ╴  Hex    Body    Headers    Timing    Attempts    TLS", "PNG, 64 × 48 pixels · drawn as half blocks", "▀▀▀")
		b.Press("[")
		b.Expect("╶ TLS ╴", "An authority of the system vouches for api.example", "CN=api.example")
	})
}

// ahead is a profile whose service is two hours ahead.
type ahead struct{ sandbox.Profile }

func (ahead) Now() time.Time { return time.Now().Add(2 * time.Hour) }

// The emulator's clock may be ahead; the handshake was verified by the machine's.
func TestACertificateIsValidByTheMachinesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40, func(d *sandbox.Deps) {
			d.Profile = ahead{d.Profile}
		})
		b.answer("application/json", "[]", model.Chain{
			Peer: "service", ServerName: "api.example", Trust: model.TrustSystem,
			Certificates: []model.Certificate{{Subject: "CN=api.example", NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}},
		})
		b.Press("ctrl+j", "[")
		b.Expect("╶ TLS ╴", "left)")
		b.ExpectNot("(over)")
	})
}

func TestABodyOnDiskHasThePagesOfItsBeginning(t *testing.T) {
	onScreen(t, 120, 40, func(t *testing.T, b *bench) {
		b.keepOnDisk("f_1")
		res := b.svc.kept["f_1"]
		res.ContentType = "image/png"
		b.svc.kept["f_1"], b.files.bodies["f_1"] = res, pngOf(t)
		b.openFetch("f_1")
		b.Expect("╶ Picture ╴", "64 × 48 pixels")
	})
}

func TestAFilterIsTypedInTheResponse(t *testing.T) {
	onScreen(t, 120, 40, func(_ *testing.T, b *bench) {
		b.answer("application/json", `{"q":[1,22,333]}`, model.Chain{})
		b.Press("ctrl+j", "]", "|") // the page has the focus now
		b.Type(".q[1]")             // digits and brackets are no keys here
		b.After(time.Second)
		b.Expect("[1 Sandbox]", "jq › .q[1]", "1 result", "→ 22", "╶ Tree ╴", "q: [] 3 values")
		b.Press("enter")
		b.Expect("╶ jq .q[1] ╴", "1 22", "| edit jq")
		b.Press("]")
		b.Expect("╶ Headers ╴")
		b.Press("[")
		b.ExpectNot("jq ›")
		b.Expect("q: [] 3 values", "╶ Tree ╴", "| jq")
	})
}

func TestKittyDrawsInCellsThatTheRendererKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, 120, 40, func(d *sandbox.Deps) { d.Pictures = picture.Kitty })
		b.answer("image/png", pngOf(t), model.Chain{})
		b.Press("ctrl+j")
		b.After(2 * time.Second) // a tick hands the image over
		b.Expect("drawn as kitty graphics")
		if n := strings.Count(b.Screen.Screen(), string(kitty.Placeholder)); n < 100 {
			t.Errorf("%d placeholders are on the screen:\n%s", n, b.Screen.Screen())
		}
		b.ExpectNot("_G", "a=T", "▀")
		b.Press("]", "]")
		b.ExpectNot(string(kitty.Placeholder))
		b.Press("[", "[")
		b.Expect("drawn as half blocks")
		b.After(2 * time.Second)
		b.Expect("drawn as kitty graphics")
	})
}
