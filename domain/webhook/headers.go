package webhook

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/atrium-hq/atrium/domain/fault"
)

// reserved are headers that Atrium or the connection sets, in lower case.
var reserved = []string{"accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect",
	"host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "user-agent"}

var (
	headerName  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`) })
	headerValue = regexp.MustCompile(`^[\x20-\x7e]*$`)
)

// CheckHeaders returns what is wrong with additional headers: at most 10, with values of at most 2,000 printable ASCII
// characters each, and none that Atrium sets.
func CheckHeaders(headers map[string]string) error {
	var errs fault.Fields
	if len(headers) > 10 {
		errs.Add("/headers", "too_many_items", "Must have at most 10 headers.")
	}
	seen := map[string]bool{}
	for name, value := range headers {
		lower := strings.ToLower(name)
		switch {
		case !headerName().MatchString(name), seen[lower]:
			errs.Add("/headers", "invalid_format", "Must be names of headers, each once.")
		case slices.Contains(reserved, lower), strings.HasPrefix(lower, "webhook-"):
			errs.Add("/headers", "not_allowed_value", "Must not be headers that Atrium sets, such as Content-Type.")
		case len(value) > 2000, !headerValue.MatchString(value):
			errs.Add("/headers", "invalid_format", "Must have values of at most 2,000 printable ASCII characters.")
		}
		seen[lower] = true
	}
	return errs.Err()
}
