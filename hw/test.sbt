// SPDX-License-Identifier: Apache-2.0

// How the unit tests are spread over processes; it has no part in the Verilog, so it is not in build.sbt, whose hash
// is in the engine's BUILD register.

/** In a JVM, one after the other. */
lazy val suitesPerJvm = 5

Test / testGrouping := {
  // A CPU each.
  val jvm = (ThisBuild / baseDirectory).value.getParentFile / "sim" / "setup" / "jvm"
  val options = (Test / forkOptions).value.withJavaHome(jvm)
  (Test / definedTests).value.sortBy(_.name).grouped(suitesPerJvm).toSeq.map { suites =>
    Tests.Group(suites.head.name, suites, Tests.SubProcess(options))
  }
}

// JVMs side by side, where sbt's own setting is one: most of a suite's time is Verilator, or a model, which use one core
// each. In a JVM it is still one suite after the other (Test / testForkedParallel is false).
Test / parallelExecution := true
Global / concurrentRestrictions := {
  val parallel = java.lang.Runtime.getRuntime.availableProcessors.min(4)
  Seq(Tags.limitAll(parallel), Tags.limit(Tags.ForkedTestGroup, parallel))
}
