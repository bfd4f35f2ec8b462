package postgres

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestASignInIsFollowedThroughTheMessages(t *testing.T) {
	sasl := &pgproto3.AuthenticationSASL{AuthMechanisms: []string{"SCRAM-SHA-256"}}
	step := &pgproto3.AuthenticationSASLContinue{Data: []byte("r=R\x00\x00\x00\x0c,s=c2FsdA==,i=4096")}
	type messages = []pgproto3.BackendMessage
	for name, tt := range map[string]struct {
		messages messages
		tail     string
		want     bool
	}{
		"nothing":                          {want: false},
		"a request for a password":         {messages{sasl, step}, "", false},
		"the end of SCRAM":                 {messages{sasl, step, &pgproto3.AuthenticationSASLFinal{}}, "", true},
		"a welcome":                        {messages{&pgproto3.AuthenticationOk{}}, "", true},
		"an error that ends like one":      {messages{&pgproto3.ErrorResponse{Message: "R\x00"}}, "", false},
		"a message shorter than its head":  {messages{&pgproto3.ParseComplete{}, &pgproto3.AuthenticationOk{}}, "", true},
		"a negative length, then anything": {nil, "R\x00\x00\x00\x00R\x00\x00\x00\x08\x00\x00\x00\x00", false},
	} {
		t.Run(name, func(t *testing.T) {
			var all []byte
			for _, m := range tt.messages {
				all, _ = m.Encode(all)
			}
			all = append(all, tt.tail...)
			for mode, from := range map[string]io.Reader{
				"at once": bytes.NewReader(all), "byte by byte": iotest.OneByteReader(bytes.NewReader(all)),
			} {
				r := &reader{from: from}
				if _, err := io.Copy(io.Discard, r); err != nil || r.signedIn != tt.want {
					t.Errorf("%s: signed in %v, %v", mode, r.signedIn, err)
				}
			}
		})
	}
}

func TestPoolersSayWhatIsWrongInWords(t *testing.T) {
	for text, want := range map[string]connection.Code{
		"no more connections allowed (max_client_conn)":                       connection.TooManyConnections,
		"query_wait_timeout":                                                  connection.TooManyConnections,
		"server login has been failing, try again later (server_login_retry)": connection.BackendUnreachable,
		"server conn crashed?":                                                connection.BackendUnreachable,
		"no such database: x":                                                 connection.DatabaseNotFound,
		"transaction blocks not allowed in statement pooling mode":            connection.PoolingUnsupported,
		"SASL authentication failed":                                          connection.AuthFailed,
		"something that a later version says":                                 connection.AuthFailed,
	} {
		assert.Equal(t, text+": poolerCode", poolerCode(text, connection.AuthFailed), want)
	}
}
