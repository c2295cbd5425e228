package lab

// Recipe is a step as plain SQL that needs nothing of backslide, for whoever wants to
// repeat it elsewhere.
type Recipe struct {
	Schema string `json:"schema"`
	// Setup makes and fills the tables, statement by statement. Rows are made by SQL
	// itself, so they are distributed as the measured ones and are not the same.
	Setup   []string   `json:"setup"`
	Before  [][]string `json:"before,omitempty"` // by client: sent first, unmeasured
	Clients [][]string `json:"clients"`          // by client: the statements of its first operations, as measured
	After   [][]string `json:"after,omitempty"`  // by client: sent last
	Ops     int        `json:"ops"`              // operations of each client
	Read    bool       `json:"read"`             // they can be sent again and again
	Connect bool       `json:"connect,omitempty"`
	Notes   []string   `json:"notes,omitempty"` // in what it is not as measured
}
