package event

// FeedQuery asks for a part of a workspace's feed: its events in the order of Seq, which has no gaps.
type FeedQuery struct {
	Filter
	Types []string // any of these; empty: any
	After int64    // only events with a higher Seq
	Limit int      // at most so many events
}

// Feed is a part of a workspace's feed.
type Feed struct {
	Items []Event
	First int64 // the Seq of the oldest event that is kept; Last+1 or more if none is
	Last  int64 // the last examined Seq: the After of the next part
	More  bool  // the feed had more events after Last when it was read
}
