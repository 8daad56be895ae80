package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/ui/kit"
	"zonedeck/ui/kit/text"
	"zonedeck/ui/kit/widget"
)

// maxCopy is the largest body that can be copied, in bytes. A larger one is a file.
const maxCopy = 1 << 20

func copyBody(m *Model) tea.Cmd { return m.copyBody(m.result.res.Body) }
func copyWire(m *Model) tea.Cmd {
	return m.form.copyRequest("request as shown", strings.Join(m.form.wire.Lines, "\n"))
}

func (m *Model) openCopyMenu() tea.Cmd {
	b := m.result.res.Body
	body := widget.MenuItem{Key: "b", Label: "body", Note: text.Bytes(b.Size), Intent: act(copyBody)}
	headers := widget.MenuItem{Key: "h", Label: "headers of the answer", Intent: kit.Copy{Label: "headers", Text: headerPage(m.result.res)}}
	switch {
	case !m.result.hasResult():
		body.Disabled, headers.Disabled = "no result yet", "no result yet"
	case b.Size == 0:
		body.Disabled = "it is empty"
	case b.Size > maxCopy:
		body.Disabled = text.Bytes(b.Size) + " is too large for a clipboard; it is kept as " + b.File
	}
	items := []widget.MenuItem{
		body, headers,
		{Key: "u", Label: "URL of the form", Intent: kit.Copy{Label: "URL", Text: m.form.request.URL}},
		{Key: "w", Label: "request as shown", Note: "secrets masked", Intent: act(copyWire)},
	}
	if cdp := cdpAddress(m.deps.Profile.CurrentProfile(), m.form.request); cdp != "" {
		items = append(items, widget.MenuItem{Key: "d", Label: "CDP address with login", Note: "for Playwright and Puppeteer; the password is a variable", Intent: kit.Copy{Label: "CDP address", Text: cdp}})
	}
	return widget.OpenMenu(m.deps.Theme, "Copy", kit.Sandbox, items)
}

// copyRequest copies the form's request in some format. It contains secret headers as
// typed, and the toast says so.
func (p *formPane) copyRequest(what, text string) tea.Cmd {
	for name := range p.request.Header {
		if model.SecretName(name) {
			return kit.CopySecret(what+" with header "+name, text)
		}
	}
	return kit.CopyText(what, text)
}

func (m *Model) copyBody(b model.BodyRef) tea.Cmd {
	if b.File == "" && b.Charset == "" {
		return kit.CopyText("body", string(b.Bytes))
	}
	bodies := m.deps.Bodies
	return kit.Load(kit.Sandbox, &m.work.copy, m.deps.Ctx, func(ctx context.Context) (string, error) {
		return readBody(ctx, bodies, b)
	}, func(text string, err error) tea.Cmd {
		switch {
		case errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return kit.Fail("The body could not be copied: " + err.Error())
		}
		return kit.CopyText("body", text)
	})
}

// code is the form's request as code for other programs.
func (p *formPane) code() kit.ShowCode { return kit.ShowCode{Request: p.request} }

func readBody(ctx context.Context, bodies Bodies, b model.BodyRef) (string, error) {
	src, err := bodies.Open(ctx, b)
	if err != nil {
		return "", err
	}
	if src.Close != nil {
		defer func() { _ = src.Close() }() // it was only read
	}
	if src.Size > maxCopy {
		return "", fmt.Errorf("it is larger than %s", text.Bytes(maxCopy))
	}
	text, err := io.ReadAll(io.NewSectionReader(src.Reader, 0, src.Size))
	return string(text), err
}
