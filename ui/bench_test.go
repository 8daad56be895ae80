package ui_test

import (
	"testing"

	"zonedeck/ui/kit"
	"zonedeck/ui/kit/widget"
)

func BenchmarkFrameWithOverlayAndToasts(b *testing.B) {
	app, key, _ := busyApp(b, 10_000)
	app.Update(kit.Open{Overlay: widget.NewHelp(kit.NewTheme(true, false), []widget.HelpSection{{Title: "Everywhere", Bindings: app.Bindings()}})})
	for _, text := range []string{"one", "two", "three"} {
		app.Update(kit.Toast{Kind: kit.ToastError, Text: text})
	}
	for b.Loop() {
		app.Update(key)
		app.View()
	}
}
