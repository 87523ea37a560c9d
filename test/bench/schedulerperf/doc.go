// Package schedulerperf measures kube-scheduler with and without our plugin, with upstream's own scheduler benchmark,
// test/integration/scheduler_perf. scheduler_perf keeps an API server, the scheduler and the load in one process; only etcd is
// another one.
//
// The package contains only benchmarks. The harness in test/bench runs each of them in a process of its own, because scheduler_perf
// leaves something behind in its process, and reads the file that -figures names.
package schedulerperf
