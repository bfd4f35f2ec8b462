package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/event"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/naming"
)

// Prefix begins a source's identifier.
const Prefix = "src"

// MaxSources is a workspace's maximum number of sources.
const MaxSources = 500

// maxName is a source name's maximum length in characters.
const maxName = 120

// ID identifies a source. The empty one identifies none.
type ID string

// Errors about sources.
var (
	ErrNotFound = &fault.Error{
		Kind:   fault.NotFound,
		Code:   "source_not_found",
		Detail: "There is no such data source.",
	}
	ErrForbidden = &fault.Error{
		Kind:   fault.Forbidden,
		Code:   "source_forbidden",
		Detail: "Your access to this data source does not allow that.",
	}
	ErrNotOwner = &fault.Error{
		Kind:   fault.Forbidden,
		Code:   "not_source_owner",
		Detail: "Only the owner of the data source or an owner of the workspace can detach it.",
	}
	ErrUnknownType = &fault.Error{
		Kind:   fault.Invalid,
		Code:   "unknown_source_type",
		Detail: "This organisation has no data source type with that name.",
	}
	ErrAlreadyAttached = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "already_attached",
		Detail: "The workspace already has a data source of this type at this location.",
	}
	ErrLimitReached = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "source_limit_reached",
		Detail: "A workspace can have at most 500 data sources.",
	}
	ErrPaused = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "source_paused",
		Detail: "The data source is paused. pause_reason says why.",
	}
	ErrNotASheet = &fault.Error{
		Kind:   fault.Conflict,
		Code:   "not_a_sheet",
		Detail: "The data source is a warehouse table. Use warehouse-preview with its connection.",
	}
)

// Location is where a source's rows are, in a sheet or in a warehouse table, and which connection reads them.
type Location struct {
	Sheet SheetLocation       // zero for a table
	Table connection.TableRef // zero for a sheet

	// Connection is the connection that reads the table. For a sheet it is the one whose account could
	// read it at the last reading; empty if none is needed.
	Connection connection.ID
}

// Backend returns what stores the rows.
func (l Location) Backend() Backend {
	if l.Sheet == (SheetLocation{}) && l.Connection != "" {
		return WarehouseBackend
	}
	return SheetBackend
}

// Key returns the same string for all locations of the same table, whatever its header row, and whichever
// account reads a sheet.
func (l Location) Key() string {
	if l.Backend() == SheetBackend {
		l.Connection = ""
	}
	url, _, _ := strings.Cut(l.Sheet.URL, "#") // it names a tab, as Sheet.Tab does
	// JSON keeps the parts distinct, whatever they contain.
	parts := []string{url, l.Sheet.Tab, string(l.Connection), l.Table.Schema, l.Table.Name}
	text, _ := json.Marshal(parts) //nolint:errchkjson // texts alone
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Draft is the caller's request for a new source.
type Draft struct {
	Type     TypeKey
	Name     string // empty: derived from the location
	Location Location
	Mapping  []Pair // nil: the source starts as Unmapped
}

func checkName(errs *fault.Fields, name string) {
	switch n := utf8.RuneCountInString(naming.Normal(name)); {
	case n > maxName:
		errs.Add("/name", "too_long", "Must have at most 120 characters.")
	case !utf8.ValidString(name), naming.Deceptive(name):
		errs.Add("/name", "invalid_characters", naming.Refusal)
	}
}

// Check returns all errors in d as a source of type t, except in its mapping.
func (d Draft) Check(t Type) error {
	var errs fault.Fields
	checkName(&errs, d.Name)
	table := d.Location.Connection != "" || d.Location.Table != (connection.TableRef{})
	switch {
	case table && d.Location.Sheet != (SheetLocation{}):
		errs.Add("/location", "not_allowed_value", "Must name either a sheet or a table of a connection.")
	case table && d.Location.Connection == "":
		errs.Add("/location/connection_id", "required", "Must be set for a table.")
	case table && d.Location.Table.Schema == "":
		errs.Add("/location/schema", "required", "Must be set for a table, as the list of tables has it.")
	case table && d.Location.Table.Name == "":
		errs.Add("/location/table", "required", "Must be set for a table.")
	case !table && d.Location.Sheet.URL == "":
		errs.Add("/location/url", "required", "Must be set for a sheet; a table has a connection_id.")
	case !t.accepts(d.Location.Backend()):
		errs.Add("/location", "not_allowed_value", "Sources of this type are not taken from there.")
	}
	return errs.Err()
}

// Status is a source's status. It follows from its pause, failure, mapping and drift.
type Status string

// The statuses. A source has the first that applies, in this order.
const (
	Paused   Status = "paused"   // it is not read until a person acts; Source.Paused is the reason
	Failing  Status = "failing"  // it cannot be read; Source.Failure is the reason
	Unmapped Status = "unmapped" // no column is mapped to a field
	Drifted  Status = "drifted"  // its columns differ from those that were mapped
	Active   Status = "active"
)

// PauseReason is the reason why a source is not read; "" if it is.
type PauseReason string

// The reasons.
const (
	ConnectionRevoked PauseReason = "connection_revoked" // until its connection is reactivated
	// the connection now has another target: until its owner maps it
	ConnectionChanged PauseReason = "connection_changed"
	BreakingDrift     PauseReason = "breaking_drift" // a mapped column is missing: until it is mapped again
)

// Source is a table of a sheet or a warehouse whose columns are mapped to a type's fields.
type Source struct {
	event.Log
	ID        ID
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Type      TypeKey
	Name      string // 1 to 120 characters
	Location  Location

	Columns []column.Header // when it was last mapped, or attached: the basis for drift
	Total   int             // columns that the table had then; more than Columns has if it is wide
	Mapping []Pair          // in the order of the request; empty: none

	ChangeKey string // the field by which rows are recognised in comparisons; empty: rows are not compared

	// Learnt is what a mapping teaches about column names. The store adds it to the workspace's memory,
	// and never fills it in when it loads.
	Learnt column.Memory

	Paused   PauseReason
	Failure  *Failure // of the last attempt to read it; nil if that succeeded
	Failures int      // consecutive failures
	Drift    Drift

	RowEstimate     int64 // -1 if unknown
	LastRefreshedAt time.Time
	NextRefreshAt   time.Time // zero while it is paused

	// Detached reports that the source was detached: a store removes it.
	Detached bool

	Owner     identity.UserID
	Revision  int64 // counts visible changes, except estimates and times of refreshes
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Reading is what was read from a table, outside any transaction.
type Reading struct {
	Location    Location // as found: with the tab's id and the header row
	Title       string   // of the document, for people
	Columns     []column.Header
	Total       int         // columns of the table; 0 if there are no more
	Rows        [][]*string // some of the rows below the header: a value for each column
	SampleError string      // why there are no rows of a table, whose columns are known; empty if rows were read
	RowEstimate int64       // -1 if unknown
	Candidates  []int       // rows of a sheet that may be the header, if none was given and none is certain
}

func (r Reading) total() int { return max(r.Total, len(r.Columns)) }

// HeaderCertain returns ErrHeaderUncertain, with the candidates, if a person must say which row is the header.
func (r Reading) HeaderCertain() error {
	if len(r.Candidates) == 0 {
		return nil
	}
	var rows fault.Fields
	for _, row := range append(slices.Clone(r.Candidates), 0) {
		detail := "Give " + strconv.Itoa(row) + " if this row is the header."
		if row == 0 {
			detail = "Give 0 if there is no header."
		}
		rows.Add("/location/header_row", "header_candidate", detail)
	}
	return ErrHeaderUncertain.WithFields(rows...)
}

// New creates a source from a reading of its location. others counts the workspace's sources. Requires
// the member role. Its first refresh is due at once, because a reading for a form reads less.
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
		ID: ID(id.New(Prefix)), Org: by.Org, Workspace: by.Workspace, Type: t.Key, Name: naming.Normal(d.Name),
		Location: r.Location, Columns: r.Columns, Total: r.total(),
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
	s.Record(by, "source.attached", string(s.ID), map[string]any{"type": t.Key, "backend": s.Location.Backend(),
		"fields": len(s.Mapping)})
	return s, nil
}

// title derives a source's name from what was read.
func title(r Reading, t Type) string {
	name := naming.Strip(column.Clean(r.Title, maxName))
	if strings.TrimSpace(name) == "" {
		return t.Title
	}
	return name
}

// Status returns the status of s.
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
