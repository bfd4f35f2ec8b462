package mysql

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
)

// maxGreeting limits the unencrypted packets of the connection phase; usual ones have a few hundred bytes.
const maxGreeting = 4096

// Flags for a server's capabilities, from the protocol's manual.
const (
	capProtocol41 = 1 << 9
	capTLS        = 1 << 11
	capSecureAuth = 1 << 15
	capPluginAuth = 1 << 19
)

// wire is a connection whose server has sent its greeting. The driver uses it.
type wire struct {
	*warehouse.Recorder
	greeting []byte // the first packet, for the driver to read again
	flags    uint32 // of the server's capabilities
	thread   uint32 // the server's identifier of the connection
	seed     []byte // of the answer that proves a password
	guard    *guard // nil on connections to be encrypted
}

// readGreeting reads the server's first packet and checks its form, since the driver trusts its lengths.
//
// In this protocol the server speaks first. If the server stays silent, readGreeting finally sends something: a server
// that waits for that speaks another protocol, and its answer shows which.
func readGreeting(ctx context.Context, r *warehouse.Recorder) (*wire, error) {
	end, _ := ctx.Deadline()
	patient, cancel := context.WithTimeout(ctx, time.Until(end)*3/4)
	defer cancel()
	w, err := awaitGreeting(patient, r)
	if errors.Is(err, connection.ConnectTimeout) && r.Count() == 0 && ctx.Err() == nil {
		return nil, promptServer(ctx, r)
	}
	return w, err
}

// awaitGreeting reads the server's first packet. A refusal in it is the error.
func awaitGreeting(ctx context.Context, r *warehouse.Recorder) (*wire, error) {
	defer warehouse.Limit(ctx, r)()
	w := &wire{Recorder: r}
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		switch {
		case err == io.EOF: // it closed without sending anything
			return nil, connection.PortClosed
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, connection.NotThisDatabase
		}
		return nil, warehouse.Classify(ctx, err)
	}
	size := length(head)
	if head[3] != 0 || size == 0 || size > maxGreeting {
		return nil, connection.NotThisDatabase
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		if warehouse.IsTimeout(err) {
			return nil, connection.ConnectTimeout
		}
		return nil, connection.HostUnreachable // it closed the connection in the middle
	}
	w.greeting = append(head[:], body...)
	return w, w.parse(body)
}

// promptServer sends a line to a silent server that most text protocols answer.
func promptServer(ctx context.Context, r *warehouse.Recorder) error {
	defer warehouse.Limit(ctx, r)()
	if _, err := io.WriteString(r, "\r\n\r\n"); err != nil {
		return warehouse.Classify(ctx, err)
	}
	var first [5]byte
	n, err := r.Read(first[:])
	if warehouse.IsTimeout(err) || (n == len(first) && first[3] == 0 && first[4] == 10) { // its late greeting
		return connection.ConnectTimeout
	}
	return connection.NotThisDatabase
}

func length(head [4]byte) int { return int(head[0]) | int(head[1])<<8 | int(head[2])<<16 }

// parse reads a greeting of protocol 10, or an error instead of it.
func (w *wire) parse(body []byte) error {
	const handshakeV9, handshakeV10, failed = 9, 10, 0xff
	switch body[0] {
	case failed:
		if len(body) < 3 {
			return connection.NotThisDatabase
		}
		return atStart(number(binary.LittleEndian.Uint16(body[1:])))
	case handshakeV9:
		return connection.UnsupportedVersion
	case handshakeV10:
	default:
		return connection.NotThisDatabase
	}
	_, rest, ok := bytes.Cut(body[1:], []byte{0}) // behind its version
	if !ok {
		return connection.NotThisDatabase
	}
	// Thread, challenge, filler, flags, charset, status, flags, length of the challenge, reserved,
	// the rest of the challenge.
	const whole = 4 + 8 + 1 + 2 + 1 + 2 + 2 + 1 + 10 + 13
	if len(rest) < whole {
		return connection.UnsupportedVersion // older than MySQL 4.1, or none
	}
	w.thread = binary.LittleEndian.Uint32(rest)
	w.seed = slices.Concat(rest[4:12], rest[31:43])
	w.flags = uint32(binary.LittleEndian.Uint16(rest[13:])) | uint32(binary.LittleEndian.Uint16(rest[18:]))<<16
	if required := uint32(capProtocol41 | capSecureAuth | capPluginAuth); w.flags&required != required {
		return connection.UnsupportedVersion
	}
	return nil
}

func (w *wire) Read(b []byte) (int, error) {
	if len(w.greeting) > 0 {
		n := copy(b, w.greeting)
		w.greeting = w.greeting[n:]
		return n, nil
	}
	n, err := w.Recorder.Read(b)
	if w.guard != nil {
		if refusal := w.guard.check(b[:n]); refusal != nil {
			return 0, refusal
		}
	}
	return n, err
}

// guard watches what a server sends while a user signs in on a connection that is not encrypted. It ends the
// connection before the driver sends a password. For some methods the driver would encrypt the password with
// any key that the server sends, and a man in the middle can send one too.
type guard struct {
	packets []byte // received so far of the current one
	done    bool
	refused error
}

// check returns why the sign-in must end, nil if it may continue.
func (g *guard) check(b []byte) error {
	if g.done || g.refused != nil {
		return g.refused
	}
	g.packets = append(g.packets, b...)
	for len(g.packets) >= 4 {
		size := length([4]byte(g.packets))
		if size > maxGreeting {
			g.refused = connection.NotThisDatabase
			return g.refused
		}
		if len(g.packets) < 4+size {
			return nil
		}
		body := g.packets[4 : 4+size]
		g.packets = g.packets[4+size:]
		const ok, more, fast, failed = 0, 1, 3, 0xff
		switch {
		case size == 0: // the driver refuses it
		case body[0] == ok, body[0] == failed:
			g.done, g.packets = true, nil
			return nil
		// it requires more than a scramble, or sends a key
		case body[0] == more && !bytes.Equal(body, []byte{more, fast}):
			g.refused = connection.TLSRequired
			return g.refused
		}
	}
	return nil
}
