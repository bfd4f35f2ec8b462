package connection

import "time"

// Step is one thing that a probe tries, each only if those before it have not failed.
type Step string

// Check is what became of one step.
type Check struct {
	Step   Step
	Result Result
	Took   time.Duration
	Code   Code // of what failed, or what a warning is about
}

// The steps, in the order in which they are tried.
const (
	Resolve      Step = "resolve"      // the host's name has addresses
	Policy       Step = "policy"       // Atrium may connect to one of them
	Connect      Step = "connect"      // something accepts the connection
	TLS          Step = "tls"          // its certificate is good; skipped where the credential asks for none
	Authenticate Step = "authenticate" // the server lets the user in
	Database     Step = "database"     // the database is there
	Read         Step = "read"         // the catalogue can be read
	Privileges   Step = "privileges"   // what the user may do beyond reading
)

// Steps lists the steps in their order.
func Steps() []Step {
	return []Step{Resolve, Policy, Connect, TLS, Authenticate, Database, Read, Privileges}
}

// Result is how a step ended.
type Result string

// The results.
const (
	OK      Result = "ok"
	Warning Result = "warning" // the connection works, and somebody should know something
	Failed  Result = "failed"
	Skipped Result = "skipped" // one before it failed, or there is no such step for this credential
)

// Server is what answered. Product and Version are the server's own words: at most 64 printable
// characters each.
type Server struct {
	Product  string
	Version  string
	CanWrite bool
}

// Report is the outcome of a probe: one check for each of Steps, in their order.
type Report struct {
	Checks []Check
	Server Server // what is known of it by then
}

// Failure returns the code of the step that failed, "" if none did.
func (r Report) Failure() Code {
	for _, c := range r.Checks {
		if c.Result == Failed {
			return c.Code
		}
	}
	return ""
}

// Warnings returns the codes of the steps that ended with a warning.
func (r Report) Warnings() []Code {
	var codes []Code
	for _, c := range r.Checks {
		if c.Result == Warning {
			codes = append(codes, c.Code)
		}
	}
	return codes
}

// FailedAt returns the report of a probe whose step failed before anything else could: those before
// it are skipped too, for nobody knows how they would have ended.
func FailedAt(step Step, code Code) Report {
	var r Report
	for _, s := range Steps() {
		if s == step {
			r.Checks = append(r.Checks, Check{Step: s, Result: Failed, Code: code})
			continue
		}
		r.Checks = append(r.Checks, Check{Step: s, Result: Skipped})
	}
	return r
}
