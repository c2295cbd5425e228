package lab

// Arg is one argument of a prepared statement: an integer, or text.
type Arg struct {
	Int    int64
	Text   []byte // owned by whoever made the Arg until the statement has been sent
	IsText bool
}

// Reply is how a server answered one statement. A server's error is a reply, not a Go
// error: the connection goes on.
type Reply struct {
	Rows     int64 // rows in the result sets, not decoded
	Affected int64 // rows that a writing statement changed
	Code     int   // the server's error number; 0: no error
	State    string
	Message  string
}
