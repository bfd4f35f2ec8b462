package warehouse

import (
	"context"
	"net"
	"sync"
	"time"
)

// Limit makes reads and writes of c end when ctx does, until the function that it returns is called: afterwards only
// the limits of c's network apply. No other code sets deadlines of connections, so none is left behind: one of the
// sign-in would end the statements that follow.
func Limit(ctx context.Context, c net.Conn) (release func()) {
	end, _ := ctx.Deadline()
	_ = c.SetDeadline(end) // fails only on a closed connection, as what follows then does
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.SetDeadline(time.Now())
		close(ended)
	})
	return sync.OnceFunc(func() {
		if !stop() {
			<-ended
		}
		_ = c.SetDeadline(time.Time{})
	})
}
