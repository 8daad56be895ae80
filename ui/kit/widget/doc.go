// Package widget holds the parts that screens are put together from: panes and
// layout, tables with their search, forms, and the overlays (dialog, confirm,
// menu, palette, help). The root and the tabs use them on the program's own
// goroutine.
package widget
