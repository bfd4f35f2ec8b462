package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// Prefix begins a source's identifier.
const Prefix = "src"

// MaxSources is how many sources a workspace may have.
const MaxSources = 500

// maxName is how many characters a source's name has at most.
const maxName = 120

// ID identifies a source; the empty one is of none.
type ID string

// What can go wrong with sources.
var (
	ErrNotFound        = &fault.Error{Kind: fault.NotFound, Code: "source_not_found", Detail: "There is no such data source."}
	ErrForbidden       = &fault.Error{Kind: fault.Forbidden, Code: "source_forbidden", Detail: "Your access to this data source does not allow that."}
	ErrNotOwner        = &fault.Error{Kind: fault.Forbidden, Code: "not_source_owner", Detail: "Only the owner of the data source or an owner of the workspace can detach it."}
	ErrUnknownType     = &fault.Error{Kind: fault.Invalid, Code: "unknown_source_type", Detail: "This organisation has no data source type with that name."}
	ErrAlreadyAttached = &fault.Error{Kind: fault.Conflict, Code: "already_attached", Detail: "The workspace already has a data source of this type at this location."}
	ErrLimitReached    = &fault.Error{Kind: fault.Conflict, Code: "source_limit_reached", Detail: "A workspace can have at most 500 data sources."}
	ErrPaused          = &fault.Error{Kind: fault.Conflict, Code: "source_paused", Detail: "The data source is paused. pause_reason says why."}
	ErrNotASheet       = &fault.Error{Kind: fault.Conflict, Code: "not_a_sheet", Detail: "The data source is a warehouse table. Use warehouse-preview with its connection."}
)

// Location says where the rows of a source are, in a sheet or in a table of a warehouse, and by which
// connection they are read.
type Location struct {
	Sheet SheetLocation       // zero for a table
	Table connection.TableRef // zero for a sheet

	// Connection is the way to the table. Of a sheet it is the one whose account reads it, as the last
	// reading found; empty if it takes none.
	Connection connection.ID
}

// Backend says what holds the rows.
func (l Location) Backend() Backend {
	if l.Sheet == (SheetLocation{}) && l.Connection != "" {
		return WarehouseBackend
	}
	return SheetBackend
}

// Key is the same for locations that are the same table, whatever row its header is in, and whoever
// reads a sheet.
func (l Location) Key() string {
	if l.Backend() == SheetBackend {
		l.Connection = ""
	}
	url, _, _ := strings.Cut(l.Sheet.URL, "#") // it names a tab, which Sheet.Tab does too
	// JSON tells the parts apart, whatever they hold.
	text, _ := json.Marshal([]string{url, l.Sheet.Tab, string(l.Connection), l.Table.Schema, l.Table.Name}) //nolint:errchkjson // texts alone
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Draft is what a caller asks of a new source.
type Draft struct {
	Type     TypeKey
	Name     string // empty: one is made of where the rows are
	Location Location
	Mapping  []Pair // nil: the source is Unmapped at first
}

// Check returns all that is wrong with d as a source of type t, but for its mapping.
func (d Draft) Check(t Type) error {
	var wrong []fault.Field
	switch n := utf8.RuneCountInString(d.Name); {
	case n > maxName:
		wrong = append(wrong, fault.Field{Pointer: "/name", Code: "too_long", Detail: "Must have at most 120 characters."})
	case !utf8.ValidString(d.Name), strings.ContainsFunc(d.Name, unicode.IsControl):
		wrong = append(wrong, fault.Field{Pointer: "/name", Code: "invalid_characters", Detail: "Must not hold control characters."})
	}
	table := d.Location.Connection != "" || d.Location.Table != (connection.TableRef{})
	switch {
	case table && d.Location.Sheet != (SheetLocation{}):
		wrong = append(wrong, fault.Field{Pointer: "/location", Code: "not_allowed_value", Detail: "Must name either a sheet or a table of a connection."})
	case table && d.Location.Connection == "":
		wrong = append(wrong, fault.Field{Pointer: "/location/connection_id", Code: "required", Detail: "Must be set for a table."})
	case table && d.Location.Table.Schema == "":
		wrong = append(wrong, fault.Field{Pointer: "/location/schema", Code: "required", Detail: "Must be set for a table, as the list of tables has it."})
	case table && d.Location.Table.Name == "":
		wrong = append(wrong, fault.Field{Pointer: "/location/table", Code: "required", Detail: "Must be set for a table."})
	case !table && d.Location.Sheet.URL == "":
		wrong = append(wrong, fault.Field{Pointer: "/location/url", Code: "required", Detail: "Must be set for a sheet; a table has a connection_id."})
	case !t.accepts(d.Location.Backend()):
		wrong = append(wrong, fault.Field{Pointer: "/location", Code: "not_allowed_value", Detail: "Sources of this type are not taken from there."})
	}
	return fault.InvalidFields(wrong)
}

// Status says how a source stands. It follows from its facts: pause, failure, mapping and drift.
type Status string

// The statuses. The first that fits, in this order, is a source's.
const (
	Paused   Status = "paused"   // it is not read until somebody does something; Source.Paused says what
	Failing  Status = "failing"  // it cannot be read; Source.Failure says why
	Unmapped Status = "unmapped" // nobody has said which columns hold the fields
	Drifted  Status = "drifted"  // its columns are not those that were mapped
	Active   Status = "active"
)

// PauseReason says why a source is not read; "" for one that is.
type PauseReason string

// The reasons.
const (
	ConnectionRevoked PauseReason = "connection_revoked" // until its connection is back
	ConnectionChanged PauseReason = "connection_changed" // it leads to another server or database by now: until its owner maps it
	BreakingDrift     PauseReason = "breaking_drift"     // a mapped column is gone: until somebody maps it
)

// Source is a table of a sheet or a warehouse, whose columns stand for the fields of a type.
type Source struct {
	event.Log
	ID        ID
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Type      TypeKey
	Name      string // 1 to 120 characters
	Location  Location

	Columns []Header // as they were when it was last mapped, or attached: what drift is told from
	Mapping []Pair   // in the order in which it was given; empty: none

	// Learnt is what a mapping tells about the names of columns, for the store to add to the
	// workspace's memory; stores never fill it in.
	Learnt Memory

	Paused   PauseReason
	Failure  *Failure // of the last attempts to read it; nil if the last one went well
	Failures int      // in a row
	Drift    Drift

	RowEstimate     int64 // -1 if nobody knows
	LastRefreshedAt time.Time
	NextRefreshAt   time.Time // zero while it is paused

	// Detached says that the source is no more: a store removes it.
	Detached bool

	Owner     identity.UserID
	Revision  int64 // counts what changes what a caller sees, but for estimates and times of refreshes
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Reading is what was read of a table, outside of any transaction.
type Reading struct {
	Location    Location // as it was found: with the tab's id, and the row of the header
	Title       string   // of what the table is in, for people
	Columns     []Header
	Rows        [][]*string // some of those below the header: a value for each column
	RowEstimate int64       // -1 if nobody knows
}

// New makes a source of a reading of its location; others counts those that the workspace has.
// Members and above may. Its first refresh is due at once: a reading for a form tells less.
func New(by identity.Actor, t Type, d Draft, r Reading, others int) (*Source, error) {
	if err := MayCreate(by); err != nil {
		return nil, err
	}
	if err := d.Check(t); err != nil {
		return nil, err
	}
	if others >= MaxSources {
		return nil, ErrLimitReached
	}
	s := &Source{
		ID: ID(id.New(Prefix)), Org: by.Org, Workspace: by.Workspace, Type: t.Key, Name: d.Name, Location: r.Location, Columns: r.Columns,
		Drift: Drift{Level: NoDrift}, RowEstimate: r.RowEstimate, NextRefreshAt: by.At,
		Owner: by.User, Revision: 1, CreatedAt: by.At, UpdatedAt: by.At,
	}
	if s.Name == "" {
		s.Name = title(r, t)
	}
	if d.Mapping != nil {
		if err := s.choose(t, d.Mapping); err != nil {
			return nil, err
		}
	}
	s.Record(by, "source.attached", string(s.ID), map[string]any{"type": t.Key, "backend": s.Location.Backend(), "fields": len(s.Mapping)})
	return s, nil
}

// title names a source for people after what was read.
func title(r Reading, t Type) string {
	name := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return -1
		}
		return c
	}, clean(r.Title, maxName))
	if strings.TrimSpace(name) == "" {
		return t.Title
	}
	return name
}

// Status says how s stands.
func (s *Source) Status() Status {
	switch {
	case s.Paused != "":
		return Paused
	case s.failing():
		return Failing
	case len(s.Mapping) == 0:
		return Unmapped
	case s.Drift.Level == Renamed || s.Drift.Level == Breaking:
		return Drifted
	default:
		return Active
	}
}

func (t *Type) accepts(b Backend) bool { return slices.Contains(t.Accepts, b) }

func (s *Source) touch(by identity.Actor) {
	s.Revision++
	s.UpdatedAt = by.At
}
