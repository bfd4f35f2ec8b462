package connection

import "time"

// Step is one probe step. It runs only if no earlier step failed.
type Step string

// Check is the result of one step.
type Check struct {
	Step   Step
	Result Result
	Took   time.Duration
	Code   Code // of the failure or the warning

	// Answered is what was recognised at the address, for some failures of the steps TLS and Authenticate.
	Answered Service
}

// The steps, in the order in which they run.
const (
	Resolve      Step = "resolve"      // the host name resolves to addresses
	Policy       Step = "policy"       // Atrium may connect to one of them
	Connect      Step = "connect"      // something accepts the connection
	TLS          Step = "tls"          // its certificate is valid; skipped if the credential does not require TLS
	Authenticate Step = "authenticate" // the server lets the user in
	Database     Step = "database"     // the database exists
	Read         Step = "read"         // the catalogue can be read
	Privileges   Step = "privileges"   // the user's rights beyond reading
)

// Steps returns the steps in order.
func Steps() []Step {
	return []Step{Resolve, Policy, Connect, TLS, Authenticate, Database, Read, Privileges}
}

// Result is a step's result.
type Result string

// The results.
const (
	OK      Result = "ok"
	Warning Result = "warning" // the connection works, but the user should know something
	Failed  Result = "failed"
	Skipped Result = "skipped" // an earlier step failed, or the step does not exist for this credential
)

// Server describes the server that responded. Product and Version are the server's own words, at most
// 64 printable characters each.
type Server struct {
	Product  string
	Version  string
	CanWrite bool
}

// Report is a probe's result: one check for each of Steps, in order.
type Report struct {
	Checks []Check
	Server Server // what the probe found out before it ended
}

// Failure returns the code of the step that failed; "" if none did.
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

// FailedAt returns a probe's report in which step failed before any other ran. The steps before it are skipped too,
// because their results are unknown.
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

// SignedIn returns a probe's report if it could only sign in, which took so long.
func SignedIn(server Server, took time.Duration) Report {
	r := Report{Server: server}
	for _, s := range Steps() {
		check := Check{Step: s, Result: Skipped}
		if s == Authenticate {
			check.Result, check.Took = OK, took
		}
		r.Checks = append(r.Checks, check)
	}
	return r
}
