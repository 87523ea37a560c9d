// Package schedulerperf has upstream's own scheduler benchmark, test/integration/scheduler_perf, measure kube-scheduler with and
// without our plugin. scheduler_perf keeps an API server, the scheduler and the load in one process; only etcd is another one.
//
// The package has benchmarks only. The harness in test/bench runs each of them in a process of its own, because scheduler_perf
// leaves something behind in its process, and reads the file that -figures names.
package schedulerperf
