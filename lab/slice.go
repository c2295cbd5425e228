package lab

import "time"

// Kind says what a slice was taken for. Only Measured slices enter a comparison.
type Kind string

// Measured is the kind of ordinary slices. The others bear the name of an Instrument.
const Measured Kind = "measured"

// SliceKey identifies a slice within a run. It is a map key.
type SliceKey struct {
	Block int  // from 0
	Cell  Cell // what was measured
	Set   int  // which set of variants was interleaved together, from 0; the base is in every set
	Seq   int  // which of the cell's slices in this block and set, from 0; equal Seq is equal work. 2m and 2m+1 are of mirrored group m
	Kind  Kind // Measured, or what it was watched with
}

// Slice is one short measured interval of one cell within a block. Seconds, bytes and
// counts are of the measured part only.
type Slice struct {
	SliceKey
	Position int       // order in which slices of the block were run, from 0
	Restart  int       // how often the block's servers had been restarted: 0 unless a run was resumed in mid-block
	Start    time.Time // of the measured part
	Age      float64   // seconds from the server's being ready to Start
	Wall     float64   // seconds measured
	Ops      int64     // operations that ended in Wall
	Offered  float64   // operations per second that an open loop asked for; 0: a closed loop
	Behind   int64     // operations of an open loop that were due in Wall and had not ended
	Latency  float64   // mean seconds of those operations, as the client saw them; 0: not known
	P50      float64   // seconds: half of those operations were over in this time; 0: not known, as the next two
	P95      float64
	P99      float64
	Rows     int64 // rows that those operations returned
	Retries  int64 // operations that were tried again after a retryable error
	Errors   []ErrorCount
	Hist     []byte // latency histogram, encoded by load.Histogram
	Usage    Usage
	Parts    []Part    // what each role of the step did; none if it has none. Ops, Rows and Hist are the first's
	Series   []Series  // of long slices
	Readings []Reading // of long slices
	Warnings []string  // doubts of the client about this slice
	Err      string    // why this slice has no result; empty for a good slice
}

// ErrorCount is how often a server answered with an error code.
type ErrorCount struct {
	Code  int   `json:"code"`
	Count int64 `json:"count"`
}

// Usage is what the host spent during a slice. Seconds are CPU or waiting time summed
// over threads; a negative value means that it could not be read.
type Usage struct {
	ServerUser   float64 // seconds, whole server process, user mode
	ServerSystem float64 // seconds, whole server process, kernel mode
	ServerRunq   float64 // seconds that server threads waited for a CPU
	ConnCPU      float64 // seconds on a CPU, of ServerUser+ServerSystem, of the threads that serve the clients
	ConnRunq     float64 // seconds of ServerRunq of the threads that serve the clients
	ClientUser   float64 // seconds, client process, user mode
	ClientSystem float64 // seconds, client process, kernel mode
	CtxVoluntary int64   // context switches of server threads that gave up the CPU
	CtxForced    int64   // context switches of server threads that lost the CPU
	ReadBytes    int64   // bytes the server had fetched from storage
	WriteBytes   int64   // bytes the server had sent to storage
	ReadCalls    int64   // read system calls of the server
	WriteCalls   int64   // write system calls of the server
	MajorFaults  int64   // of the server
	Steal        float64 // seconds that the hypervisor took from all CPUs
	HostBusy     float64 // seconds of CPU used by processes other than server and client
	RSS          int64   // bytes resident, server, at the end
	StallCPU     float64 // seconds in which some task of the host waited for a CPU
	StallMemory  float64 // likewise, for memory
	StallIO      float64 // likewise, for storage
	Dirty        int64   // bytes of the host's file cache that were not yet on storage, at the end
	Frequency    float64 // Hz, mean of the CPUs, at the end
	Throttled    int64   // times that a CPU was slowed down for its heat
}
