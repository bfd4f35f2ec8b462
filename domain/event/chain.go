package event

import (
	"crypto/hmac"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/atrium-hq/atrium/domain/identity"
)

// Digest returns a keyed hash of parts, each with its length, under a key that is derived for purpose.
type Digest func(purpose string, parts ...[]byte) [32]byte

// Sign returns an event's signature if its Data is stored as data. It covers all stored fields of the event except
// Revision, which the release before could not verify.
func Sign(d Digest, e *Event, data []byte) []byte {
	parts := [][]byte{
		[]byte(e.ID), []byte(e.Org), []byte(e.Workspace), []byte(e.Type), []byte(e.Actor), []byte(e.Key),
		[]byte(e.Subject), data, number(e.At.UnixMicro()), []byte(e.Request.ID), []byte(e.Request.Address),
	}
	if e.Session != "" { // events from before there were sessions have no such part
		parts = append(parts, []byte(e.Session))
	}
	sum := d("event", parts...)
	return sum[:]
}

// UpgradeWindow is the time after the beginning of the first chain within which an older release, which writes no
// chains, may run beside this one. Later events without a signature are breaks.
const UpgradeWindow = 24 * time.Hour

// Chain is the state of one workspace's chain: its two ends. Links that retention removed are before
// Base. The chain of the empty org and workspace has no links; it records when chains began.
type Chain struct {
	Org       identity.OrgID
	Workspace identity.WorkspaceID
	Since     time.Time // when it began
	BaseSeq   int64     // the last removed link; 0: none
	BaseHash  []byte
	Seq       int64 // the last link
	Hash      []byte
	MAC       []byte // authenticates the fields above
}

// Append links an event with a signature to the end of c, and returns the link's hash.
func (c *Chain) Append(d Digest, signature []byte) []byte {
	c.Seq, c.Hash = c.Seq+1, c.link(d, c.Seq+1, c.Hash, signature)
	return c.Hash
}

func (c *Chain) link(d Digest, seq int64, previous, signature []byte) []byte {
	sum := d("event link", []byte(c.Org), []byte(c.Workspace), number(seq), previous, signature)
	return sum[:]
}

// Seal sets MAC for the other fields of c.
func (c *Chain) Seal(d Digest) { c.MAC = c.mac(d) }

// IsGenuine reports whether c is unchanged since Seal.
func (c *Chain) IsGenuine(d Digest) bool { return hmac.Equal(c.MAC, c.mac(d)) }

func (c *Chain) mac(d Digest) []byte {
	sum := d("event chain", []byte(c.Org), []byte(c.Workspace), number(c.Since.UnixMicro()),
		number(c.BaseSeq), c.BaseHash, number(c.Seq), c.Hash)
	return sum[:]
}

func number(n int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(n)) //nolint:gosec // bits, not a quantity
}

// Link is a stored event with its place in a chain.
type Link struct {
	Event
	Encoded   []byte // Data as it is stored
	Signature []byte // empty: written by a release without chains
	Redaction []byte // of SignRedaction; empty: it is as it was written
	Seq       int64  // 0: not linked yet
	Hash      []byte
}

// Break is a place where a chain does not verify.
type Break struct {
	Event  string `json:"event,omitempty"` // empty: the chain itself
	Seq    int64  `json:"seq,omitempty"`
	Reason string `json:"reason"`
}

// maxBreaks is the maximum number of breaks that a report lists. Further breaks are only counted.
const maxBreaks = 20

// Report is the result of verifying a chain.
type Report struct {
	Org       identity.OrgID       `json:"org_id"`
	Workspace identity.WorkspaceID `json:"workspace_id"`
	Verified  int                  `json:"verified"` // valid links
	Redacted  int                  `json:"redacted"` // of those, and of the waiting ones: erasures of people changed them
	Waiting   int                  `json:"waiting"`  // signed but not yet linked
	Unsigned  int                  `json:"unsigned"` // from before the chain, or from a release without chains
	Seq       int64                `json:"seq"`      // of the last link
	Hash      string               `json:"hash"`     // of the last link, hexadecimal
	Broken    int                  `json:"broken"`
	Breaks    []Break              `json:"breaks"` // the first ones
}

// Verifier checks one chain, link by link.
type Verifier struct {
	digest Digest
	chain  *Chain // nil: the workspace has none
	began  time.Time
	seq    int64
	hash   []byte
	gap    bool // the link before the next one is unknown
	report Report
}

// NewVerifier returns a verifier for chain, nil if the workspace has none. began is the chain that
// records when chains began, or nil.
func NewVerifier(d Digest, org identity.OrgID, ws identity.WorkspaceID, c, start *Chain) *Verifier {
	v := &Verifier{digest: d, chain: c, report: Report{Org: org, Workspace: ws, Breaks: []Break{}}}
	switch {
	case start == nil && c != nil:
		v.fail("", 0, "the record of when chains began is missing")
	case start != nil && !start.IsGenuine(d):
		v.fail("", 0, "the record of when chains began was changed")
	case start != nil && c != nil && c.Since.Before(start.Since):
		v.fail("", 0, "the record of when chains began was replaced")
	}
	if start != nil {
		v.began = start.Since
	}
	if c != nil {
		if !c.IsGenuine(d) {
			v.fail("", 0, "the ends of the chain were changed")
		}
		v.seq, v.hash = c.BaseSeq, c.BaseHash
		v.report.Seq, v.report.Hash = c.Seq, fmt.Sprintf("%x", c.Hash)
	}
	return v
}

// Position is where a verification's next part begins. The zero value is the beginning of the chain.
type Position struct {
	Seq   int64  // of the last link that was checked
	Event string // the id of the last event without a link that was checked; empty: there may be more links
}

// IsZero reports whether p is the beginning.
func (p Position) IsZero() bool { return p == Position{} }

// String returns p as ParsePosition reads it.
func (p Position) String() string {
	if p.Event != "" {
		return p.Event
	}
	return strconv.FormatInt(p.Seq, 10)
}

// ParsePosition reads a position: a Seq, or the id of an event.
func ParsePosition(text string) Position {
	if seq, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Position{Seq: seq}
	}
	return Position{Event: text}
}

// Part is the result of verifying part of a workspace's events: first its links, then the events without a link.
type Part struct {
	Report
	Next Position // where the next part begins; zero: this is the last one
}

// Resume continues after a link that was checked before. hash is its hash as stored; empty if it is gone.
func (v *Verifier) Resume(seq int64, hash []byte) {
	if v.chain == nil || seq <= v.seq {
		return // retention has removed it since, with all that came before it
	}
	v.seq, v.hash, v.gap = seq, hash, len(hash) == 0
}

// SkipLinks continues after all links were checked.
func (v *Verifier) SkipLinks() { v.chain = nil }

// Part returns a part's result if further links follow.
func (v *Verifier) Part() Part { return Part{Report: v.report, Next: Position{Seq: v.seq}} }

// CheckLink checks the next link, in the order of Seq.
func (v *Verifier) CheckLink(l *Link) {
	switch {
	case v.chain == nil:
		v.fail(l.ID, l.Seq, "it is linked, and its workspace has no chain")
		return
	case l.Seq <= v.seq:
		v.fail(l.ID, l.Seq, "it was inserted: its place is taken, or before the beginning of the chain")
		return
	case l.Seq > v.chain.Seq:
		v.fail(l.ID, l.Seq, "it was inserted: its place is behind the end of the chain")
		return
	case l.Seq > v.seq+1:
		v.fail("", v.seq+1, fmt.Sprintf("%d event(s) before this place were deleted", l.Seq-v.seq-1))
		v.gap = true
	}
	isSigned := v.isSigned(l)
	isLinked := v.gap || hmac.Equal(l.Hash, v.chain.link(v.digest, l.Seq, v.hash, l.Signature))
	switch {
	case !isSigned:
		v.fail(l.ID, l.Seq, "it was changed")
	case !isLinked:
		v.fail(l.ID, l.Seq, "it was moved to this place, or what came before it was changed")
	default:
		v.report.Verified++
	}
	v.seq, v.hash, v.gap = l.Seq, l.Hash, false
}

// isSigned reports whether an event is as it was written, or as an erasure left it.
func (v *Verifier) isSigned(l *Link) bool {
	if len(l.Redaction) == 0 {
		return hmac.Equal(l.Signature, Sign(v.digest, &l.Event, l.Encoded))
	}
	genuine := hmac.Equal(l.Redaction, SignRedaction(v.digest, &l.Event, l.Encoded, l.Signature))
	if genuine {
		v.report.Redacted++
	}
	return genuine
}

// Unlinked checks an event that is not linked.
func (v *Verifier) Unlinked(l *Link) {
	switch {
	case l.Seq < 0:
		v.fail(l.ID, l.Seq, "it was inserted: there is no such place")
	case len(l.Signature) > 0 && v.isSigned(l):
		v.report.Waiting++
	case len(l.Signature) > 0:
		v.fail(l.ID, 0, "it was changed before it was linked, or inserted")
	case !v.began.IsZero() && l.At.After(v.began.Add(UpgradeWindow)):
		v.fail(l.ID, 0, "it has no signature: it was inserted, or written by an old release after the upgrade")
	default:
		v.report.Unsigned++
	}
}

// Report returns the result after all links were checked.
func (v *Verifier) Report() Report {
	if v.chain != nil && v.seq < v.chain.Seq {
		v.fail("", v.seq+1, fmt.Sprintf("%d event(s) at the end of the chain were deleted", v.chain.Seq-v.seq))
	} else if v.chain != nil && !hmac.Equal(v.hash, v.chain.Hash) {
		v.fail("", v.seq, "the last link is not the one that the chain ends with")
	}
	return v.report
}

func (v *Verifier) fail(event string, seq int64, reason string) {
	v.report.Broken++
	if len(v.report.Breaks) < maxBreaks {
		v.report.Breaks = append(v.report.Breaks, Break{Event: event, Seq: seq, Reason: reason})
	}
}
