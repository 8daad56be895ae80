package kit

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
	"zonedeck/service/profile"
)

// Session is what the views need to know of the profile in use. It is a value:
// a change arrives as SessionChanged.
type Session struct {
	ProfileName string
	// Local says that the profile is the embedded emulator.
	Local bool
	// Ready says that requests can be sent; until then Problem may say why not,
	// and an empty Problem means that it is still starting.
	Ready   bool
	Problem string
	// Unverified says that the profile switched certificate checks off.
	Unverified bool
	// Ahead is how far the emulator's clock, which the console follows, is ahead of the
	// machine's. It is 0 with a real account.
	Ahead time.Duration
	// Notes say what else there is to know of where requests go: another port than
	// the usual one, a state that was set aside.
	Notes []string
	Zones []model.Zone
	Keys  []model.Key
	// Key is the profile's default key; its Name is empty when there is none.
	Key model.Key
	// Profile is the profile itself.
	Profile profile.Profile
}

// SessionChanged reaches every view whenever the session does.
type SessionChanged struct{ Session Session }

// Resized tells every view the size it will be drawn at.
type Resized struct{ W, H int }

// ToastKind is how loud a toast is.
type ToastKind int

// An info toast goes by itself after four seconds, a warning after eight, an
// error stays until it is dismissed.
const (
	ToastInfo ToastKind = iota
	ToastWarn
	ToastError
)

// Toast asks the root to show one line. Text is sanitised when it is drawn.
type Toast struct {
	Kind ToastKind
	Text string
}

// Info shows text for a while.
func Info(text string) tea.Cmd { return Send(Toast{Kind: ToastInfo, Text: text}) }

// Warn shows text for a longer while.
func Warn(text string) tea.Cmd { return Send(Toast{Kind: ToastWarn, Text: text}) }

// Fail shows text until the operator dismisses it. It should say what happened,
// to what, and what to do.
func Fail(text string) tea.Cmd { return Send(Toast{Kind: ToastError, Text: text}) }

// Open asks the root to put an overlay on top.
type Open struct{ Overlay Overlay }

// OpenOverlay opens o.
func OpenOverlay(o Overlay) tea.Cmd { return Send(Open{Overlay: o}) }

// Close asks the root to take the topmost overlay away; with Overlay set only
// that one, wherever it lies.
type Close struct{ Overlay Overlay }

// CloseOverlay closes the topmost overlay.
func CloseOverlay() tea.Cmd { return Send(Close{}) }

// ForOverlay is a message for one overlay, as the result of a command it started;
// it is dropped when the overlay is closed by then.
type ForOverlay struct {
	Overlay Overlay
	Msg     tea.Msg
}

// Goto makes a tab the active one and then gives it Msg, when there is one.
type Goto struct {
	View ViewID
	Msg  tea.Msg
}

// GotoTab switches to a tab and hands it msg (nil for none).
func GotoTab(view ViewID, msg tea.Msg) tea.Cmd { return Send(Goto{View: view, Msg: msg}) }

// SendTo hands msg to a view, whichever tab is active.
func SendTo(view ViewID, msg tea.Msg) tea.Cmd { return Send(Addressed{View: view, Msg: msg}) }

// Copy asks the root to put text on the clipboard and to say where it went.
type Copy struct {
	// What names it in the toast ("body", "curl command").
	What string
	Text string
	// Secret says that the text holds a secret: the toast warns.
	Secret bool
}

// CopyText copies text; what names it in the toast.
func CopyText(what, text string) tea.Cmd { return Send(Copy{What: what, Text: text}) }

// CopySecret copies text that holds a secret; the toast says so.
func CopySecret(what, text string) tea.Cmd { return Send(Copy{What: what, Text: text, Secret: true}) }

// Quit asks the root to end the program, by way of the quit guard.
type Quit struct{}

// Send puts a message into the program's queue.
func Send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// Tick reaches the active view once a second, so that ages and elapsed times
// stay true.
type Tick struct{}
