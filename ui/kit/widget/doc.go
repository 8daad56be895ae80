// Package widget holds the building blocks of screens: panes and
// layout, tables with their search, forms, and the overlays (dialog, confirm,
// menu, palette, help). The root and the tabs use them on the program's own
// goroutine.
package widget
