package connection

// UnreadableError is TableUnreadable with the SQLSTATE of the server's error: the server works, but its table or view
// has an error, such as a division by zero.
type UnreadableError struct {
	State string // five digits and upper-case letters
}

// Unreadable returns an UnreadableError, or TableUnreadable if state does not have an SQLSTATE's form.
func Unreadable(state string) error {
	if len(state) != 5 {
		return TableUnreadable
	}
	for _, c := range []byte(state) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return TableUnreadable
		}
	}
	return &UnreadableError{State: state}
}

func (e *UnreadableError) Error() string { return string(TableUnreadable) + ": SQLSTATE " + e.State }

// Unwrap returns TableUnreadable.
func (e *UnreadableError) Unwrap() error { return TableUnreadable }

// Hint explains how to correct the table, for the person who does so.
func (e *UnreadableError) Hint() string {
	return causes[TableUnreadable].hint + " Its SQLSTATE is " + e.State + "."
}
