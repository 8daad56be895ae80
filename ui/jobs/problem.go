package jobs

// InputProblem is one row of the inputs that cannot be used, or can but should
// be looked at.
type InputProblem struct {
	Row     int
	Text    string
	Warning bool
}
