package kit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"zonedeck/model"
)

// Session is what the views need to know about the profile in use. It is a value;
// changes arrive as SessionChanged.
type Session struct {
	ProfileName string
	// Local says that the profile is the embedded emulator.
	Local bool
	// Ready says that requests can be sent. Until then Problem may say why not; if it is
	// empty, the service is still starting.
	Ready   bool
	Problem string
	// Unverified says that the profile disables certificate checks.
	Unverified bool
	// Ahead is how far the emulator's clock, which the console follows, is ahead of the
	// machine's. It is 0 with a real account.
	Ahead time.Duration
	// Faults is how many faults of the emulator are on.
	Faults int
	// Notes are remarks about where requests go: an unusual port, a discarded state.
	Notes []string
	Zones []model.Zone
	// Keys are all keys that can be named: Given, which come with the profile, and then the
	// inventory's.
	Keys, ProfileKeys []model.Key
	// Unread is why the inventory's keys are not among Keys: keystore.ErrKeysUnread while they are read
	// for the first time, or what is wrong with the file.
	Unread error
	// OtherAccounts says of each key of another account whose it is, by its name: "profile acme
	// (https://api.example.com)".
	OtherAccounts map[string]string
	// Key is the profile's default key; its Name is empty if it has none.
	Key model.Key
	// Replaced is the key that the profile names, where the environment's is used in its place.
	Replaced string
	// Profile is the profile itself.
	Profile model.Profile
	// Turn counts the descriptions of a session: one with a lower number is older.
	Turn int64
}

// KeyNow is the time by which a key's clocks run, at a moment of the console's clock: the
// service's time for the keys that come with the profile, the machine's for the inventory's,
// which serve every profile.
func (s Session) KeyNow(k model.Key, now time.Time) time.Time {
	if s.Ahead == 0 || slices.ContainsFunc(s.ProfileKeys, func(g model.Key) bool {
		return g.Secret == k.Secret && g.Fingerprint == k.Fingerprint && g.Expires == k.Expires && g.Rotation == k.Rotation
	}) {
		return now
	}
	return now.Add(-s.Ahead)
}

// NotReady says why no request can be sent yet, or returns "".
func (s Session) NotReady() string {
	switch {
	case s.Problem != "" || s.Ready:
		return s.Problem
	case s.Unread != nil:
		return s.Unread.Error()
	default:
		return "the service is still starting"
	}
}

// Refused says why the profile does not do something ("launch jobs") and what one can do about it, or
// returns "".
func (s Session) Refused(what string) string {
	if err := s.Profile.Refuse(what); err != nil {
		return err.Error() + WayOut(s.Profile.Name)
	}
	return ""
}

// WayOut is what the console says behind the refusal of a read-only profile.
func WayOut(profile string) string {
	return fmt.Sprintf("; use another profile, or allow it with the command 'edit profile %s'", profile)
}

// MissingKey says why there is no key to use: name is the one that was chosen, empty
// for the profile's.
func (s Session) MissingKey(name string) string {
	if name = cmp.Or(name, s.Profile.Key); name == "" {
		return "the profile has no key: choose one, or add one in Keys"
	}
	if s.Unread != nil {
		return s.Unread.Error()
	}
	return strconv.Quote(name) + " is not in the key inventory: add it in Keys, or choose another"
}

// SessionChanged reaches every view whenever the session does.
type SessionChanged struct{ Session Session }

// Resized tells every view the size it will be drawn at.
type Resized struct{ W, H int }

// ToastKind is how urgent a toast is.
type ToastKind int

// An info toast disappears after four seconds, a warning after eight; an error stays
// until it is dismissed.
const (
	ToastInfo ToastKind = iota
	ToastWarn
	ToastError
)

// Toast asks the root to show one line. Text is sanitised when it is drawn.
type Toast struct {
	Kind ToastKind
	Text string
	// About names a state that the text describes: a later toast about it takes this one's
	// place, and one without a text takes it away.
	About string
	// In is the tab where the thing can be seen: the message names its key, and is read once it is open.
	In ViewID
}

// Refusal says why a key cannot act now. One without a reason takes away what was said of that key before.
func Refusal(key, label, reason string) Toast {
	out := Toast{About: "the key " + key + " " + label}
	if reason != "" {
		out.Text = key + " " + label + ": " + reason
	}
	return out
}

// KeysFault is an error of the key inventory; an empty one says that there is none any more.
func KeysFault(text string) Toast {
	return Toast{Kind: ToastError, Text: text, About: "the key inventory"}
}

// AboutSaved is the About of toasts on what has become of a saved request.
const AboutSaved = "the saved requests"

// Info shows text for a while.
func Info(text string) tea.Cmd { return Send(Toast{Kind: ToastInfo, Text: text}) }

// Warn shows text for a longer while.
func Warn(text string) tea.Cmd { return Send(Toast{Kind: ToastWarn, Text: text}) }

// Fail shows text until the operator dismisses it. It should say what happened,
// to what, and what to do.
func Fail(text string) tea.Cmd { return Send(Toast{Kind: ToastError, Text: text}) }

// FailIn is Fail about a thing of a tab.
func FailIn(view ViewID, text string) tea.Cmd {
	return Send(Toast{Kind: ToastError, Text: text, In: view})
}

// Open asks the root to put an overlay on top.
type Open struct{ Overlay Overlay }

// OpenOverlay opens o.
func OpenOverlay(o Overlay) tea.Cmd { return Send(Open{Overlay: o}) }

// Opening opens an overlay, if there is one, before the next key is read: letters typed at once go into it.
type Opening func() (Overlay, tea.Cmd)

// Close asks the root to remove the topmost overlay, or the given one if Overlay is
// set.
type Close struct{ Overlay Overlay }

// CloseOverlay closes o.
func CloseOverlay(o Overlay) tea.Cmd { return Send(Close{Overlay: o}) }

// ForOverlay is a message for one overlay, such as the result of a command it
// started. It is dropped if the overlay has been closed.
type ForOverlay struct {
	Overlay Overlay
	Msg     tea.Msg
}

// Goto activates a tab and then passes it Msg, if any.
type Goto struct {
	View ViewID
	Msg  tea.Msg
}

// GotoTab switches to a tab and passes it msg (nil for none).
func GotoTab(view ViewID, msg tea.Msg) tea.Cmd { return Send(Goto{View: view, Msg: msg}) }

// SendTo passes msg to a view, whichever tab is active.
func SendTo(view ViewID, msg tea.Msg) tea.Cmd { return Send(Addressed{View: view, Msg: msg}) }

// Copy asks the root to put text on the clipboard and to say where it went.
type Copy struct {
	// Label names it in the toast ("body", "curl command").
	Label string
	Text  string
	// Secret says that the text holds a secret: the toast warns.
	Secret bool
}

// CopyText copies text; what names it in the toast.
func CopyText(what, text string) tea.Cmd { return Send(Copy{Label: what, Text: text}) }

// CopySecret copies text that holds a secret; the toast says so.
func CopySecret(what, text string) tea.Cmd { return Send(Copy{Label: what, Text: text, Secret: true}) }

// ShowCode asks the root to show a fetch as code for other programs.
type ShowCode struct {
	Request model.FetchRequest
	// Username is a proxy's username in place of the one that the request makes, or empty.
	Username string
	// Comparison is one of the request, to be shown as a report, too, or nil.
	Comparison *model.Grid
}

// Print asks the root to print text on the terminal's own screen, where its selection takes
// it.
type Print struct{ Text string }

// ShowProfile asks the root to show where the profile in use sends to, and how it reads
// what comes back.
type ShowProfile struct{}

// Quit asks the root to end the program, through the quit guard.
type Quit struct{}

// Send puts a message into the program's queue.
func Send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// Tick reaches the active view and each Badged one once a second, so that ages, elapsed times and
// counts stay current. Without work in flight, and without a command from the view, the frame is drawn
// every five seconds.
type Tick struct{}
