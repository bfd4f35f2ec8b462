package presences

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/atrium-hq/atrium/adapters/rest/server"
	"github.com/atrium-hq/atrium/domain/identity"
)

// eventID is a stream event's id: KEY.SEQ, or KEY.SEQ.RECEIPT for a stream that a ticket opened.
type eventID struct {
	key     string // of the caller and the query: with any other, a reader starts from the beginning
	seq     int64  // the reader knows everything up to this; negative if the id is malformed
	receipt string // shows that the reader has received the stream that a ticket opened; empty without a ticket
}

func parseEventID(s string) eventID {
	key, rest, _ := strings.Cut(s, ".")
	number, receipt, _ := strings.Cut(rest, ".")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		seq = -1
	}
	return eventID{key, seq, receipt}
}

// String returns the id as it is sent.
func (e eventID) String() string {
	s := e.key + "." + strconv.FormatInt(e.seq, 10)
	if e.receipt != "" {
		s += "." + e.receipt
	}
	return s
}

// lastEventID returns the id of the last event that the reader has seen; empty if not sent. EventSource sends it in a
// header when it reconnects. A client that opens a new EventSource sends it in the query.
func lastEventID(r *server.Call) string {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		return last
	}
	return r.URL.Query().Get("last_event_id")
}

// resumePoint reads the Seq up to which the reader knows everything. known reports whether the last event belongs to
// the same caller and the same query.
func resumePoint(r *server.Call, key string) (newest int64, resumes, isKnown bool) {
	last := lastEventID(r)
	if last == "" {
		return 0, false, false
	}
	id := parseEventID(last)
	if isKnown = id.key == key && id.seq >= 0; !isKnown {
		return 0, true, false
	}
	return id.seq, true, true
}

// streamKey identifies a caller and a query: event ids are valid only for the same key.
func streamKey(by identity.Actor, users string) string {
	h := sha256.Sum256(
		[]byte(strings.Join([]string{string(by.Org), string(by.User), strconv.FormatBool(by.Operator), users}, "\x00")),
	)
	return base64.RawURLEncoding.EncodeToString(h[:9])
}

// receiptOf returns what a stream's event ids contain if a ticket opened it. URLs end up in logs, so a ticket opens no
// second stream. Its own stream it can resume: only its reader knows the receipt.
func receiptOf(r *server.Call, ticket string) string {
	org, users := server.Observed(r.Request).Org.ID, r.URL.Query().Get("user_id")
	sum := r.API.Digester.Digest("stream receipt", []byte(org), []byte(ticket), []byte(users))
	return base64.RawURLEncoding.EncodeToString(sum[:15])
}

// hasReceived reports whether a request shows a stream's receipt.
func hasReceived(r *server.Call, receipt string) bool {
	return subtle.ConstantTimeCompare([]byte(parseEventID(lastEventID(r)).receipt), []byte(receipt)) == 1
}
