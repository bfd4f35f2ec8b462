package account

import (
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/page"
)

// Limits for what directories' requests leave. Each token has its own places: neither another directory nor many
// successful requests make Atrium forget what was refused.
const (
	DirectoryRequestsKept   = 7 * 24 * time.Hour
	MaxDirectoryRequests    = 1000 // with one token and of one DirectoryOutcome; the newest
	maxDirectoryAttributes  = 32   // of one request
	maxDirectoryDetail      = 500  // characters
	maxDirectoryRefusalCode = 100  // characters
)

// DirectoryResource is the kind of resource that a directory's request concerns.
type DirectoryResource string

// The values of DirectoryResource.
const (
	DirectoryUserResource  DirectoryResource = "user"
	DirectoryGroupResource DirectoryResource = "group"
	DirectoryOtherResource DirectoryResource = "other" // a search in both, or a description of the service
)

// DirectoryOutcome is a request's result.
type DirectoryOutcome string

// The values of DirectoryOutcome.
const (
	DirectoryRead    DirectoryOutcome = "read"
	DirectoryChanged DirectoryOutcome = "changed"
	DirectoryRefused DirectoryOutcome = "refused"
)

// DirectoryRequest is a request that a directory sent, without its values.
type DirectoryRequest struct {
	ID       string
	Org      identity.OrgID
	Request  string // its Request-Id
	Token    int    // the position of its token in the configuration, from 1
	Method   string
	Resource DirectoryResource

	// Subject is the account or the group that the request concerns; empty if it concerns several, or has no valid id.
	Subject string

	// Attributes are the names of the attributes in its body or its filter. A name that RFC 7643, section 2.1, does not
	// allow is UnknownAttribute: it might be a value.
	Attributes []string

	Outcome   DirectoryOutcome
	Status    int    // of the response
	Code      string // of the refusal, as scimType has it; empty: it has none, or the request was not refused
	Detail    string // of the refusal
	CreatedAt time.Time
}

// UnknownAttribute stands for attributes whose names are not valid.
const UnknownAttribute = "?"

// DirectoryRequestPage is one page of requests, the newest first.
type DirectoryRequestPage = page.Of[DirectoryRequest]

// attributeName is a name as RFC 7644, section 3.10, writes it: perhaps with the schema before it, and a sub-attribute
// behind it.
var attributeName = regexp.MustCompile(`^[A-Za-z$][\w$.:-]{0,119}$`)

// NewDirectoryRequest returns r as it is stored: DirectoryRefused if its Status is an error. by is the system.
func NewDirectoryRequest(by identity.Actor, r DirectoryRequest) *DirectoryRequest {
	r.ID, r.Org, r.Request, r.CreatedAt = id.New("drq"), by.Org, by.Request.ID, by.At
	if !id.Valid("usr", r.Subject) && !id.Valid("dgr", r.Subject) {
		r.Subject = ""
	}
	if r.Status >= 400 {
		r.Outcome = DirectoryRefused
	}
	names, isNamed := []string{}, map[string]bool{}
	for _, name := range r.Attributes {
		if !attributeName.MatchString(name) {
			name = UnknownAttribute
		}
		if !isNamed[name] && len(names) < maxDirectoryAttributes {
			isNamed[name] = true
			names = append(names, name)
		}
	}
	r.Attributes = names
	r.Code, r.Detail = cutText(r.Code, maxDirectoryRefusalCode), cutText(r.Detail, maxDirectoryDetail)
	return &r
}

// cutText returns the first characters, at most limit.
func cutText(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit])
}
