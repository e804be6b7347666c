# SPDX-License-Identifier: Apache-2.0
"""Systems on chip with the engine, in rooms: an import goes from a room above to one below, never back.

    boards       bench          the SoCs of boards, as bitstreams; software against the engine, measured
          linux                 the images that Linux on the SoC boots from, and runs of it
    simulation   fpga           the simulated SoC; the FPGA tools, and CPU and engine synthesised alone
          system                the common part of the SoCs of boards and of the simulation

Below them all is `hwswap_litex`, the engine as a LiteX core. Each room names its parts that are for the others.
"""
